// The page of a report: data is what `kimesh report --format json` prints.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const runs = data.runs;
let chosen = 0, byRounds = false, link = 0, node = 0;

const timeParts = [
  ['compute_s', 'gradient', 'var(--a)'], ['encode_s', 'encode', 'var(--b)'], ['apply_s', 'apply', 'var(--d)'],
  ['step_s', 'step', 'var(--c)'], ['wire_s', 'wire', 'var(--warm)'], ['wait_s', 'wait', 'var(--idle)']];

function progress() {
  const x = run => byRounds ? run.curves.round : run.curves.seconds;
  const ex = e => byRounds ? e.round : e.seconds;
  const xText = byRounds ? v => `round ${plain(v)}` : seconds;
  const loss = runs.map((run, i) => ({name: run.name, x: x(run), y: run.curves.loss, colour: colour(i)}));
  const evaluated = key => runs.map((run, i) => ({name: run.name, x: run.evaluations.map(ex),
      y: run.evaluations.map(e => e[key]), colour: colour(i)})).filter(c => c.x.length);
  const charts = [lineChart('loss of the batch', loss, {xText})];
  if (evaluated('accuracy').length) charts.push(lineChart('accuracy', evaluated('accuracy'), {xText, yText: percent}));
  charts.push(lineChart('time of a round', runs.map((run, i) => ({name: run.name, x: x(run),
      y: run.curves.round_s, colour: colour(i)})), {xText, yText: seconds, low: 0}));
  const button = (text, value) => element('button', {'aria-pressed': byRounds === value,
      onclick: () => { byRounds = value; draw(); }}, text);
  return [element('h2', {}, 'Progress ', button('seconds', false), ' ', button('rounds', true)),
          element('div', {class: 'charts'}, ...charts)];
}

function findings(run) {
  const cards = run.findings.map(f => element('div', {class: 'finding', 'data-rule': f.rule},
      element('b', {}, f.rule.replaceAll('-', ' ')), `: ${f.text}`,
      f.remedy ? element('p', {class: 'faint'}, `Try: ${f.remedy}.`) : null));
  if (run.no_what_if) cards.push(element('p', {class: 'faint'}, `Other meshes were not simulated: ${run.no_what_if}.`));
  return [element('div', {class: 'verdict', id: 'verdict'}, run.verdict), ...cards];
}

function time(run) {
  const keys = timeParts.map(([, name, colour]) => ({name, colour}));
  const rows = run.nodes.map((name, index) => ({name, index, measures: run.node_measures[index]})).filter(row => row.measures)
      .map(({name, index, measures}) => ({name, index, parts: timeParts.map(([key]) => measures[key])}));
  const x = run.curves.round, xText = v => `round ${plain(v)}`;
  if (!run.node_measures[node]) node = rows[0].index;
  const parts = timeParts.map(([key]) => run.curves.nodes[node][key]);
  const charts = [stackedBars('where the time of a round goes, by node', rows, keys, seconds,
                              row => { node = row.index; draw(); }),
    stackedColumns(`the rounds of node ${run.nodes[node]}`, x.map((_, i) => parts.map(part => part[i] ?? 0)), keys,
                   seconds, i => xText(x[i]))];
  charts.push(lineChart('gradient', run.nodes.slice(0, 6).map((name, i) => ({name, x,
      y: run.curves.nodes[i].compute_s, colour: colour(i)})), {xText, yText: seconds, low: 0}));
  return [element('h2', {}, 'Where the time goes'), element('div', {class: 'charts'}, ...charts),
    element('p', {class: 'faint'}, kTimeWords)];
}

const nameOf = (run, l) => `${run.nodes[l.from]}->${run.nodes[l.to]}`;

function linkTable(run) {
  const columns = [['link', l => nameOf(run, l)], ['rate', l => rate(l.rate_bits_per_s)],
    ['true', l => l.true_rate_bits_per_s === null ? '' : rate(l.true_rate_bits_per_s)],
    ['busy', l => percent(l.busy)], ['bytes', l => bytes(l.bytes)],
    ['dense', l => l.dense_bytes ? bytes(l.dense_bytes) : '?'],
    ['saved', l => l.saved_s === null ? '' : seconds(Math.max(0, l.saved_s))],
    ['reduces carry', l => l.reduce_contraction === null ? '' : percent(l.reduce_contraction)],
    ['gathers carry', l => l.gather_contraction === null ? '' : percent(l.gather_contraction)]];
  return element('div', {class: 'scroll'}, element('table', {},
    element('thead', {}, element('tr', {}, ...columns.map(([name]) => element('th', {}, name)))),
    element('tbody', {class: 'pick'}, ...run.links.map((l, i) => element('tr',
      {class: i === link ? 'chosen' : '', 'data-link': nameOf(run, l), onclick: () => { link = i; draw(); }},
      ...columns.map(([, text]) => element('td', {}, text(l))))))));
}

function links(run) {
  if (!run.links.length) return [];
  link = Math.min(link, run.links.length - 1);
  const edges = run.links.map((l, i) => ({...l, index: i, text: `${nameOf(run, l)}\nrate ${rate(l.rate_bits_per_s)}` +
      `\nbytes a round ${bytes(l.bytes)}\nbusy ${percent(l.busy)}`}));
  const of = run.curves.links[link], x = run.curves.link_round, xText = v => `round ${plain(v)}`;
  const curve = (name, key, i, dashed) => ({name, x, y: of[key], colour: colour(i), dashed});
  const name = nameOf(run, run.links[link]);
  const graph = meshGraph('thick: many bytes; red: busy', run.nodes, edges, {onpick: l => { link = l.index; draw(); }});
  graph.className = 'tall';
  return [element('h2', {}, 'Links'),
    element('p', {class: 'faint'}, 'All figures are of one round; a click on a link shows its curves.'),
    element('div', {class: 'charts'},
      graph, lineChart(`rate of ${name}`, [curve('estimated', 'rate_bits_per_s', 0), curve('true', 'true_rate_bits_per_s', 1, true)]
          .filter(c => c.y.some(y => y !== null)), {xText, yText: rate, low: 0}),
      lineChart(`bytes of ${name}`, [curve('sent', 'bytes', 0), curve('budget', 'budget_bytes', 1, true)]
          .filter(c => c.y.some(y => y)), {xText, yText: bytes, low: 0}),
      lineChart(`what messages of ${name} carry of what there is to send`, [curve('reduce', 'reduce_contraction', 0),
          curve('gather', 'gather_contraction', 1)].filter(c => c.y.some(y => y !== null)),
          {xText, yText: percent, low: 0, high: 1}),
      lineChart(`share of the time that ${name} sends`, [curve('busy', 'busy', 0)], {xText, yText: percent, low: 0, high: 1})),
    linkTable(run)];
}

function layers(run) {
  if (!run.layers) return [];
  return [element('h2', {}, 'Layers'), element('div', {class: 'scroll'},
    heatMap('share of each layer’s elements that travel in a round', run.layers.names, run.layers.round,
            run.layers.kept, {columnText: v => `round ${plain(v)}`, valueText: percent}))];
}

function events(run) {
  if (!run.events.length) return [];
  return [element('h2', {}, 'Events'), element('div', {class: 'scroll'}, element('table', {}, element('tbody', {},
    ...run.events.map(e => element('tr', {}, element('td', {}, seconds(e.time_s)), element('td', {style: 'text-align:left'}, run.nodes[e.node]),
      element('td', {style: 'text-align:left;white-space:normal'}, e.text))))))];
}

function heading(run) {
  const facts = [run.outcome ?? 'no end is recorded', `${run.rounds} rounds`, seconds(run.seconds),
    run.accuracy === null ? null : `accuracy ${percent(run.accuracy)}`, `${run.nodes.length} nodes`, run.topology,
    `policy ${run.policy}`, run.compressor, run.parameters === null ? null : `${run.parameters} parameters`];
  return [element('h1', {}, run.name), element('p', {class: 'faint'}, facts.filter(f => f).join(' · ')),
          run.nodes_without_file ? element('p', {}, `The folder holds no records of ${run.nodes_without_file}: ` +
              'all figures are those of the other nodes.') : null,
          run.text ? element('p', {}, run.text) : null];
}

function draw() {
  const run = runs[chosen], scroll = scrollY;
  const tabs = runs.length < 2 ? [] : [element('p', {}, ...runs.map((r, i) => element('button', {'aria-pressed': i === chosen,
      onclick: () => { chosen = i; link = node = 0; draw(); }}, element('span', {class: 'key', style: `background:${colour(i)};margin-left:0`}), r.name)))];
  document.getElementById('page').replaceChildren(...[...tabs, ...heading(run), ...findings(run), ...progress(),
    ...time(run), ...links(run), ...layers(run), ...events(run)].filter(e => e));
  scrollTo(0, scroll);
}
draw();
