"""Finished runs, a line of JSON each: what was measured once is not measured again."""
import hashlib
import json
import os


def digest(content):
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def digest_of_file(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


class Store:
    def __init__(self, path):
        self.path, self.results = path, {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if line.endswith("\n"):  # else this bench was killed while it wrote
                        entry = json.loads(line)
                        self.results[json.dumps(entry["key"], sort_keys=True)] = entry["result"]

    def find(self, key):
        return self.results.get(json.dumps(key, sort_keys=True))

    def remember(self, key, result):
        """Until this process ends."""
        self.results[json.dumps(key, sort_keys=True)] = result

    def get(self, key, make):
        """The result of `key`; `make()` measures it where it is not there yet."""
        result = self.find(key)
        if result is None:
            result = make()
            self.remember(key, result)
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "result": result}) + "\n")
        return result
