// The live page of a run: it draws /state.json, whose fields src/web/include/kimesh/web/run_watch.h
// explains, and asks for what is new once a second.
'use strict';
const kEventsMax = 200, kRowsMax = 40, kBarsMax = 24;
const parts = [['compute_s', 'gradient', 'var(--a)'], ['encode_s', 'encode', 'var(--b)'],
  ['apply_s', 'apply', 'var(--d)'], ['step_s', 'step', 'var(--c)'], ['wire_s', 'wire', 'var(--warm)'],
  ['wait_s', 'wait', 'var(--idle)']].map(([key, name, colour]) => ({key, name, colour}));
let run = null, state = null, curve = {}, evaluations = {}, events = [];
let token = '', silentSince = null, byRounds = false, node = 0, link = 0, graph = null;

// What `next` tells replaces all from the first place that `stays` refuses.
function splice(columns, next, stays) {
  for (const key of Object.keys(next)) {
    if (key === 'from') continue;
    columns[key] = (columns[key] ?? []).slice(0, stays).concat(next[key]);
  }
}

function merge(next) {
  if (next.whole) {
    run = next.run; curve = {}; evaluations = {}; events = []; graph = null;
    node = Math.min(node, run.nodes.length - 1);
    link = Math.min(link, Math.max(0, run.links.length - 1));
  }
  state = next;
  const old = curve.round ?? [];
  splice(curve, next.curve, old.filter(round => round < next.curve.from).length);
  splice(evaluations, next.evaluations, next.evaluations.from);
  const fresh = next.events.text.map((text, i) => ({number: next.events.from + i, text,
      time_s: next.events.time_s[i], node: next.events.node[i]}));
  events = events.filter(e => e.number < next.events.from).concat(fresh).slice(-kEventsMax);
}

const nameOf = i => `${run.nodes[run.links[i][0]]}->${run.nodes[run.links[i][1]]}`;
const chosenRate = (rate_, error, bound) => rate_ === null ? 'unknown'
    : `${bound ? 'at least ' : ''}${rate(rate_)}${error === null ? '' : ` ± ${percent(error)}`}`;

// The rows of state.links as objects.
function links() {
  const columns = state.links, keys = Object.keys(columns);
  return columns.link.map((_, i) => {
    const made = Object.fromEntries(keys.map(key => [key, columns[key][i]]));
    made.name = nameOf(made.link);
    made.rateText = chosenRate(made.rate_bits_per_s, made.rate_error, made.is_lower_bound);
    made.known = state.nodes.known[run.links[made.link][0]];
    return made;
  });
}

function linkText(l) {
  if (!l.known) return `${l.name}\nits records are on another machine`;
  return [l.name, `rate ${l.rateText}`,
    l.true_rate_bits_per_s === null ? null : `emulated rate ${rate(l.true_rate_bits_per_s)}`,
    `budget ${l.budget_bytes ? bytes(l.budget_bytes) : 'none'}`, `bytes of the round ${bytes(l.bytes)}`,
    `sent ${percent(l.kept)} of the values`, `gain ${percent(l.gain)}`,
    `queue ${l.queued === null ? 'not recorded' : `${l.queued} messages`}`, `busy ${percent(l.busy)}`,
    `in all ${bytes(l.total_bytes)}`].filter(line => line).join('\n');
}

function nodeText(i) {
  if (!state.nodes.known[i]) return `${run.nodes[i]}\nits records are on another machine`;
  return [run.nodes[i], `${state.nodes.rounds[i]} rounds`, state.nodes.outcome[i],
          ...parts.map(p => `${p.name}: ${seconds(state.nodes[p.key][i])}`)].filter(t => t).join('\n');
}

function status() {
  const over = state.over;
  if (over) return {state: over.outcome, text: `over: ${over.outcome}${over.text ? '' : ` (${over.reason})`}`};
  if (silentSince) return {state: 'silent', text: `no answer since ${silentSince}`};
  return state.reading ? {state: 'reading', text: 'reading the records'} : {state: 'running', text: 'running'};
}

function heading() {
  const {state: kind, text} = status();
  const tile = (id, name, value) => element('div', {class: 'tile'},
      element('span', {}, name), element('b', {id}, value));
  const saved = state.bytes_sent > 0 ? ` of ${bytes(state.bytes_dense)} dense` : '';
  const facts = [`${run.nodes.length} nodes`, run.topology, `policy ${run.policy}`, run.compressor,
    run.parameters === null ? null : `${run.parameters} parameters`,
    state.checkpoint === null ? null : `last checkpoint: round ${state.checkpoint}`];
  document.title = `${run.name}: ${text}`;
  return [element('h1', {}, run.name, element('span', {id: 'status', 'data-state': kind}, text)),
    element('p', {class: 'faint'}, facts.filter(f => f).join(' · ')),
    state.over?.text ? element('p', {id: 'why'}, state.over.text) : null,
    silentSince && !state.over ? element('p', {class: 'faint'}, 'This page’s kimesh has ended or ' +
        'cannot be reached. `kimesh web` and the run’s folder shows how the run ended.') : null,
    element('div', {class: 'tiles'}, tile('round', 'round', `${state.round}`),
      tile('seconds', 'run’s clock', seconds(state.seconds)),
      tile('speed', 'rounds a second', plain(state.rounds_per_s)), tile('loss', 'loss', plain(state.loss)),
      state.accuracy === null ? null : tile('accuracy', 'accuracy', percent(state.accuracy)),
      tile('bytes', `sent${saved}`, bytes(state.bytes_sent)))];
}

// A chart of a link leaves the last round of a run that is done out: its messages may be dense, and
// would leave all others flat.
const withoutClosing = values => state.over?.outcome === 'done' && values?.length > 1 ? values.slice(0, -1) : values;

function progress() {
  const xText = byRounds ? v => `round ${plain(v)}` : seconds;
  const line = (name, from, key, yText, more = {}) => lineChart(name,
      [{name, x: (byRounds ? from.round : from.seconds) ?? [], y: from[key] ?? [], colour: colour(0)}],
      {xText, yText, ...more});
  const button = (text, value) => element('button', {'aria-pressed': byRounds === value,
      onclick: () => { byRounds = value; changed(); }}, text);
  return [element('h2', {}, 'Progress ', button('seconds', false), ' ', button('rounds', true)),
    element('div', {class: 'charts'}, line('loss of the batch', curve, 'loss', plain),
      evaluations.round?.length ? line('accuracy', evaluations, 'accuracy', percent) : null,
      line('time of a round', curve, 'round_s', seconds, {low: 0}))];
}

// The graph stays, so that what the mouse points at does; only its links are painted anew.
function drawGraph(all) {
  const edges = all.map(l => ({from: run.links[l.link][0], to: run.links[l.link][1], index: l.link,
      bytes: l.mean_bytes ?? 0, busy: l.known ? l.busy ?? 0 : 0, text: linkText(l)}));
  const told = edges.map(e => e.index).join();
  if (!graph || graph.told !== told) {
    const left = run.links.length - edges.length;
    const caption = `thick: many bytes; red: busy${left ? `; ${left} links with fewer bytes are not drawn` : ''}`;
    graph = meshGraph(caption, run.nodes, edges, {nodeText, onnode: i => { node = i; changed(); ask(); },
                                                  onpick: e => { link = e.index; changed(); ask(); }});
    graph.id = 'graph';
    graph.told = told;
  }
  graph.repaint(edges);
  graph.querySelectorAll('circle').forEach((ball, i) =>
      ball.setAttribute('stroke-dasharray', state.nodes.known[i] ? 'none' : '3 3'));
  return graph;
}

function pickedLink() {
  const l = state.link;
  if (!l || !l.round.length) return [];
  const xText = v => `round ${plain(v)}`, name = nameOf(l.link);
  const curveOf = (label, key, i, dashed) =>
      ({name: label, x: withoutClosing(l.round), y: withoutClosing(l[key]), colour: colour(i), dashed});
  const filled = curves => curves.filter(c => c.y.some(y => y !== null && y !== 0));
  return [lineChart(`rate of ${name}`, filled([curveOf('estimated', 'rate_bits_per_s', 0),
            curveOf('emulated', 'true_rate_bits_per_s', 1, true)]), {xText, yText: rate, low: 0}),
    lineChart(`bytes of ${name}`, filled([curveOf('sent', 'bytes', 0), curveOf('budget', 'budget_bytes', 1, true)]),
            {xText, yText: bytes, low: 0}),
    lineChart(`gain and use of ${name}`, [curveOf('gain', 'gain', 0), curveOf('busy', 'busy', 1)],
            {xText, yText: percent, low: 0, high: 1})];
}

// What stays in the document between two drawings.
let frame = null;
function mesh(all) {
  const kept = frame.graph, drawn = drawGraph(all);
  if (kept.firstChild !== drawn) kept.replaceChildren(drawn);
  kept.parentElement.className = `mesh${run.nodes.length > 60 ? ' wide' : ''}`;
  frame.beside.replaceChildren(...pickedLink());
}

function makeFrame() {
  const section = () => element('section'), graph = element('div'), beside = element('div', {class: 'beside'});
  frame = {head: section(), graph, beside, below: section()};
  document.getElementById('page').replaceChildren(frame.head, element('h2', {}, 'Mesh'),
    element('p', {class: 'faint'}, 'A click on a link or a node shows its last rounds.'),
    element('div', {}, graph, beside), frame.below);
}

function time() {
  const ranked = run.nodes.map((name, i) => ({name, index: i, parts: parts.map(p => state.nodes[p.key][i] ?? 0)}))
      .filter(row => state.nodes.known[row.index]);
  const work = row => row.parts.slice(0, 4).reduce((a, b) => a + b, 0);
  const rows = ranked.length <= kBarsMax ? ranked : ranked.sort((a, b) => work(b) - work(a)).slice(0, kBarsMax);
  const which = ranked.length > kBarsMax ? `, the ${kBarsMax} nodes that work longest` : ', by node';
  const picked = state.node;
  return [element('h2', {}, 'Where the time goes'), element('div', {class: 'charts'},
    stackedBars(`of the last rounds${which}`, rows, parts, seconds, row => { node = row.index; changed(); ask(); }),
    picked ? stackedColumns(`the last rounds of node ${run.nodes[picked.node]}`,
        picked.round.map((_, i) => parts.map(p => picked[p.key][i])), parts, seconds,
        i => `round ${picked.round[i]}`) : null),
    element('p', {class: 'faint'}, kTimeWords)];
}

function table(all) {
  const rows = all.filter(l => l.known);
  const shown = rows.length <= kRowsMax ? rows : [...rows].sort((a, b) => b.busy - a.busy).slice(0, kRowsMax);
  const columns = [['link', l => l.name], ['rate', l => l.rateText],
    ['emulated', l => l.true_rate_bits_per_s === null ? '' : rate(l.true_rate_bits_per_s)],
    ['budget', l => l.budget_bytes ? bytes(l.budget_bytes) : ''], ['bytes', l => bytes(l.bytes)],
    ['values sent', l => percent(l.kept)], ['gain', l => percent(l.gain)],
    ['queue', l => l.queued === null ? '' : `${l.queued}`], ['busy', l => percent(l.busy)],
    ['in all', l => bytes(l.total_bytes)]];
  return [element('h2', {}, 'What links send'),
    rows.length > shown.length ? element('p', {class: 'faint'}, `The ${shown.length} busiest of ${rows.length} links.`) : null,
    element('div', {class: 'scroll'}, element('table', {id: 'links'},
      element('thead', {}, element('tr', {}, ...columns.map(([name]) => element('th', {}, name)))),
      element('tbody', {class: 'pick'}, ...shown.map(l => element('tr', {class: l.link === link ? 'chosen' : '',
          'data-link': l.name, onclick: () => { link = l.link; changed(); ask(); }},
        ...columns.map(([, text]) => element('td', {}, text(l))))))))];
}

function policy() {
  if (!state.policy) return [];
  const said = (key, v) => ['round_time', 'exchange'].includes(key) ? seconds(v)
    : typeof v === 'number' ? plain(v) : typeof v === 'string' ? v : JSON.stringify(v);
  return [element('h2', {}, `What the policy has learnt (${run.policy})`), element('div', {class: 'scroll'},
    element('table', {id: 'policy'}, element('tbody', {}, ...Object.entries(state.policy).map(([key, value]) =>
      element('tr', {}, element('td', {}, key.replaceAll('_', ' ')), element('td', {class: 'text'}, said(key, value)))))))];
}

function happened() {
  if (!events.length) return [];
  return [element('h2', {}, 'Events'), element('div', {class: 'scroll'}, element('table', {id: 'events'},
    element('tbody', {}, ...[...events].reverse().map(e => element('tr', {}, element('td', {}, seconds(e.time_s)),
      element('td', {class: 'text'}, run.nodes[e.node]), element('td', {class: 'text'}, e.text))))))];
}

function draw() {
  const all = links(), scroll = scrollY, fill = (section, parts) =>
      section.replaceChildren(...parts.filter(part => part));
  if (!frame?.head.isConnected) makeFrame();
  fill(frame.head, [...heading(), ...progress()]);
  mesh(all);
  fill(frame.below, [...time(), ...table(all), ...policy(), ...happened()]);
  scrollTo(0, scroll);
}

// Drawn with the next frame: not at all while nobody looks.
let wanted = false;
function changed() {
  if (wanted || !state) return;
  wanted = true;
  requestAnimationFrame(() => { wanted = false; draw(); });
}

function askForToken() {
  const field = element('input', {type: 'password', id: 'token', placeholder: 'token', autocomplete: 'off'});
  const form = element('form', {onsubmit: event => { event.preventDefault(); token = field.value; ask(); }},
    element('h1', {}, 'kimesh'), element('p', {}, 'This page asks for the token in the file that its kimesh was given.'),
    field, ' ', element('button', {}, 'show'));
  document.getElementById('page').replaceChildren(form);
  field.focus();
}

// One request is on its way, or about to be. A new one takes the place of the one that waits.
let asking = null, timer = null, picked = '';
async function ask() {
  clearTimeout(timer);
  asking?.abort();
  const mine = asking = new AbortController();
  const query = new URLSearchParams({node, link});
  if (state) query.set('since', state.cursor);
  if (state && !state.reading && picked === `${node} ${link}`) query.set('wait', '1');
  picked = `${node} ${link}`;
  const silence = setTimeout(() => mine.abort(new DOMException('no answer', 'TimeoutError')), 10000);
  const later = milliseconds => { timer = setTimeout(ask, milliseconds); };
  try {
    const answer = await fetch(`/state.json?${query}`, {signal: mine.signal, cache: 'no-store',
        headers: token ? {Authorization: `Bearer ${token}`} : {}});
    if (answer.status === 401) return askForToken();
    if (!answer.ok) throw new Error(answer.statusText);
    merge(await answer.json());
    silentSince = null;
    later(state.over && !state.reading ? 5000 : 0);
  } catch (error) {
    if (mine !== asking || error.name === 'AbortError') return;
    silentSince ??= new Date().toLocaleTimeString();
    later(2000);
  } finally {
    clearTimeout(silence);
  }
  changed();
}
ask();
