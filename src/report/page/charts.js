// Drawing: numbers become SVG. Nothing here knows what a run is.
'use strict';
const colours = ['--a', '--b', '--c', '--d', '--e', '--f'].map(name => `var(${name})`);
const colour = i => colours[i % colours.length];

function element(name, attributes = {}, ...children) {
  const svg = ['svg', 'g', 'path', 'line', 'rect', 'circle', 'text', 'title'].includes(name);
  const made = svg ? document.createElementNS('http://www.w3.org/2000/svg', name)
                   : document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    key.startsWith('on') ? made.addEventListener(key.slice(2), value) : made.setAttribute(key, value);
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

// Three digits and a unit: "1.25 Mbit/s".
function scaled(value, units, step = 1000) {
  if (value === null || value === undefined) return '?';
  let i = 0;
  while (Math.abs(Number(value.toPrecision(3))) >= step && i < units.length - 1) { value /= step; ++i; }
  return `${Number(value.toPrecision(3))} ${units[i]}`;
}
const rate = v => scaled(v, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s']);
const bytes = v => scaled(v, ['B', 'kB', 'MB', 'GB']);
function seconds(v) {
  if (v === null || v === undefined) return '?';
  if (v >= 1) return `${Number(v.toPrecision(3))} s`;
  return v >= 1e-3 ? `${Number((v * 1e3).toPrecision(3))} ms` : `${Number((v * 1e6).toPrecision(3))} µs`;
}
// Of the parts of a round's time, which add up to it.
const kTimeWords = 'Wire: the node’s busiest outgoing link was sending. Wait: the rest of the round. Work that ran ' +
    'beside the gradient is the gradient’s time.';
const percent = v => v === null || v === undefined ? '?' : `${Number((100 * v).toPrecision(3))} %`;
const plain = v => v === null || v === undefined ? '?' : `${Number(v.toPrecision(4))}`;

// Round numbers that cover [low, high], about `count` of them.
function ticks(low, high, count) {
  if (!(high - low > 1e-9 * Math.abs(high))) return [low];
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find(s => s * power >= raw) * power;
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step / 1e6; v += step) found.push(v);
  return found;
}

const tip = () => document.getElementById('tip');
function showTip(event, text) {
  const box = tip();
  box.textContent = text;
  box.style.display = 'block';
  const right = event.clientX + box.offsetWidth + 20 > innerWidth;
  box.style.left = `${right ? event.clientX - box.offsetWidth - 12 : event.clientX + 12}px`;
  box.style.top = `${event.clientY + 12}px`;
}
const hideTip = () => { tip().style.display = 'none'; };

// curves: [{name, x: [], y: [], colour, dashed}]. A y that is null leaves a gap.
function lineChart(caption, curves, {xText = plain, yText = plain, low, high} = {}) {
  const width = 460, height = 220, left = 64, right = 8, top = 8, bottom = 22;
  const xs = curves.flatMap(c => c.x), ys = curves.flatMap(c => c.y).filter(y => y !== null);
  const figure = element('figure', {}, element('figcaption', {}, caption));
  if (curves.length > 1)
    figure.firstChild.append(...curves.map(c => element('span', {},
        element('span', {class: 'key', style: `background:${c.colour}`}), c.name)));
  if (!ys.length) { figure.append(element('p', {class: 'faint'}, 'nothing was recorded')); return figure; }
  const x0 = Math.min(...xs), x1 = Math.max(...xs);
  const y0 = low ?? Math.min(...ys), y1 = high ?? Math.max(...ys, y0 + 1e-12);
  const px = x => left + (width - left - right) * (x1 > x0 ? (x - x0) / (x1 - x0) : .5);
  const py = y => height - bottom - (height - top - bottom) * (y1 > y0 ? (y - y0) / (y1 - y0) : .5);
  const svg = element('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': caption});
  for (const y of ticks(y0, y1, 4)) {
    svg.append(element('line', {class: 'grid', x1: left, x2: width - right, y1: py(y), y2: py(y)}),
               element('text', {x: left - 5, y: py(y) + 4, 'text-anchor': 'end'}, yText(y)));
  }
  for (const x of ticks(x0, x1, 4))
    svg.append(element('text', {x: px(x), y: height - 6, 'text-anchor': 'middle'}, xText(x)));
  for (const c of curves) {
    let d = '', pen = 'M';
    c.x.forEach((x, i) => {
      if (c.y[i] === null) { pen = 'M'; return; }
      d += `${pen}${px(x).toFixed(1)} ${py(c.y[i]).toFixed(1)}`;
      pen = 'L';
    });
    if (!d.includes('L')) d += 'l.1 0';
    svg.append(element('path', {class: 'curve', d, stroke: c.colour, 'stroke-linecap': 'round',
                                ...(c.dashed ? {'stroke-dasharray': '4 3'} : {})}));
  }
  svg.addEventListener('mousemove', event => {
    const box = svg.getBoundingClientRect();
    const x = x0 + (x1 - x0) * ((event.clientX - box.left) * width / box.width - left) / (width - left - right);
    const lines = curves.map(c => {
      let best = -1;
      c.x.forEach((cx, i) => {
        if (c.y[i] !== null && (best < 0 || Math.abs(cx - x) < Math.abs(c.x[best] - x))) best = i;
      });
      return best < 0 ? null : `${c.name}: ${yText(c.y[best])} at ${xText(c.x[best])}`;
    });
    showTip(event, lines.filter(line => line).join('\n'));
  });
  svg.addEventListener('mouseleave', hideTip);
  figure.append(svg);
  return figure;
}

// rows: [{name, parts: [value]}]; names of the parts in `keys`.
function stackedBars(caption, rows, keys, text, onpick) {
  const width = 460, line = 24, left = 70;
  const longest = Math.max(...rows.map(row => row.parts.reduce((a, b) => a + b, 0)), 1e-12);
  const figure = element('figure', {}, element('figcaption', {}, caption, ...keys.map((key, k) =>
      element('span', {}, element('span', {class: 'key', style: `background:${key.colour}`}), key.name))));
  const svg = element('svg', {viewBox: `0 0 ${width} ${rows.length * line + 4}`, role: 'img',
                              'aria-label': caption});
  rows.forEach((row, r) => {
    let x = left;
    svg.append(element('text', {class: 'name', x: left - 6, y: r * line + 16, 'text-anchor': 'end'}, row.name));
    row.parts.forEach((part, k) => {
      const w = (width - left) * part / longest;
      const said = row.parts.map((p, i) => `${keys[i].name}: ${text(p)}`).join('\n');
      svg.append(element('rect', {x, y: r * line + 3, width: Math.max(0, w), height: line - 7,
                                  fill: keys[k].colour, onmousemove: e => showTip(e, `${row.name}\n${said}`),
                                  onmouseleave: hideTip, onclick: () => onpick && onpick(row)}));
      x += w;
    });
  });
  figure.append(svg);
  return figure;
}

// Cells coloured by the logarithm of their value.
function heatMap(caption, names, columns, rows, {columnText, valueText}) {
  const values = rows.flat().filter(v => v > 0);
  const figure = element('figure', {}, element('figcaption', {}, caption));
  if (!values.length) return figure;
  const low = Math.log(Math.min(...values)), high = Math.log(Math.max(...values, Math.min(...values) * 1.001));
  const width = 940, left = 230, line = Math.max(9, Math.min(18, 400 / names.length));
  const cell = (width - left) / columns.length;
  const svg = element('svg', {viewBox: `0 0 ${width} ${names.length * line + 18}`, role: 'img',
                              'aria-label': caption});
  names.forEach((name, r) => {
    if (line >= 11 || names.length <= 60)
      svg.append(element('text', {x: left - 6, y: r * line + line * .75, 'text-anchor': 'end'}, name));
    rows[r].forEach((value, c) => {
      if (value === null) return;
      const share = value > 0 ? (Math.log(value) - low) / (high - low) : 0;
      svg.append(element('rect', {x: left + c * cell, y: r * line, width: cell + .3, height: line - 1,
          fill: `color-mix(in srgb, var(--a) ${Math.round(10 + 90 * share)}%, var(--cold))`,
          onmousemove: e => showTip(e, `${name}\n${columnText(columns[c])}: ${valueText(value)}`),
          onmouseleave: hideTip}));
    });
  });
  for (const i of [0, columns.length - 1])
    svg.append(element('text', {x: left + (i + .5) * cell, y: names.length * line + 13,
                                'text-anchor': i ? 'end' : 'start'}, columnText(columns[i])));
  figure.append(svg);
  return figure;
}

// rows: [[value of each key]], a column each, in order; columnText tells which one it is. A few columns
// that are far higher than the others, as those of first rounds are, are cut off at the top.
function stackedColumns(caption, rows, keys, text, columnText) {
  const width = 460, height = 180, left = 64, bottom = 6, top = 8;
  const heights = rows.map(row => row.reduce((a, b) => a + b, 0)).sort((a, b) => a - b);
  const usual = heights[Math.floor(.95 * heights.length)] ?? 0, most = heights.at(-1) ?? 0;
  const longest = Math.max(most > 1.5 * usual ? 1.1 * usual : most, 1e-12);
  const figure = element('figure', {}, element('figcaption', {}, caption));
  const svg = element('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': caption});
  const scale = (height - top - bottom) / longest, cell = (width - left) / Math.max(rows.length, 1);
  for (const y of ticks(0, longest, 4)) {
    const at = height - bottom - y * scale;
    svg.append(element('line', {class: 'grid', x1: left, x2: width, y1: at, y2: at}),
               element('text', {x: left - 5, y: at + 4, 'text-anchor': 'end'}, text(y)));
  }
  rows.forEach((row, r) => {
    const said = [columnText(r), ...row.map((v, k) => `${keys[k].name}: ${text(v)}`)].join('\n');
    let y = height - bottom;
    const highest = part => Math.max(0, Math.min(part * scale, y - top));
    const column = element('g', {onmousemove: e => showTip(e, said), onmouseleave: hideTip});
    row.forEach((value, k) => {
      const tall = highest(value);
      y -= tall;
      column.append(element('rect', {x: left + r * cell, y, width: cell + .2, height: tall,
                                     fill: keys[k].colour}));
    });
    svg.append(column);
  });
  figure.append(svg);
  return figure;
}

// Which nodes are joined, whatever the direction: [[index]].
function neighbours(count, links) {
  const found = Array.from({length: count}, () => new Set());
  for (const link of links) {
    found[link.from].add(link.to);
    found[link.to].add(link.from);
  }
  return found.map(set => [...set].sort((a, b) => a - b));
}

// Angles and distances from the middle, 0 to 1, of the nodes of a tree around its middle; null where
// links form no tree.
function treePlaces(count, links) {
  const next = neighbours(count, links);
  if (count < 3 || next.reduce((sum, n) => sum + n.length, 0) !== 2 * (count - 1)) return null;
  const depthsFrom = root => {
    const depth = Array(count).fill(-1), order = [root];
    depth[root] = 0;
    for (const node of order)
      for (const other of next[node]) if (depth[other] < 0) { depth[other] = depth[node] + 1; order.push(other); }
    return {depth, order, deepest: depth[order.at(-1)]};
  };
  const trees = next.map((_, root) => depthsFrom(root));
  if (trees[0].order.length < count) return null;
  const root = trees.reduce((best, tree, i) => tree.deepest < trees[best].deepest ? i : best, 0);
  const {depth, order, deepest} = trees[root], leaves = Array(count).fill(0), from = Array(count).fill(0);
  const below = node => next[node].filter(other => depth[other] > depth[node]);
  for (const node of [...order].reverse())
    leaves[node] = below(node).reduce((sum, child) => sum + leaves[child], 0) || 1;
  for (const node of order) {
    let at = from[node];
    for (const child of below(node)) { from[child] = at; at += leaves[child]; }
  }
  return depth.map((d, i) => [2 * Math.PI * (from[i] + leaves[i] / 2) / leaves[root] - Math.PI / 2, d / deepest]);
}

// nodes: [name]; links: [{from, to, bytes, busy, text}] as thick as their bytes and coloured by how
// busy they are. figure.repaint(links) draws them anew, in the same order. A node under the mouse
// shows its links alone.
function meshGraph(caption, nodes, links, {onpick, onnode, nodeText} = {}) {
  const many = nodes.length > 60, size = many ? 940 : 460, centre = size / 2;
  const radius = many ? 455 : 175, ball = many ? 3 : nodes.length > 16 ? 8 : 15;
  const bend = many ? 4 : 14, arrows = nodes.length <= 16;
  const around = nodes.map((_, i) => [2 * Math.PI * i / nodes.length - Math.PI / 2, 1]);
  const place = (treePlaces(nodes.length, links) ?? around).map(([angle, share]) =>
      [centre + share * radius * Math.cos(angle), centre + share * radius * Math.sin(angle)]);
  const thickest = many ? Math.min(5, Math.max(1.5, 1600 / links.length)) : 7;
  const svg = element('svg', {viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': caption});
  const shown = links.map(link => {
    const [x1, y1] = place[link.from], [x2, y2] = place[link.to];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1, ux = (x2 - x1) / length, uy = (y2 - y1) / length;
    // The two directions bend apart.
    const mx = (x1 + x2) / 2 - uy * bend, my = (y1 + y2) / 2 + ux * bend;
    const made = {link, ux, uy, ax: x2 - ux * (ball + 1), ay: y2 - uy * (ball + 1)};
    made.line = element('path', {fill: 'none',
      d: `M${x1 + ux * ball} ${y1 + uy * ball}Q${mx} ${my} ${x2 - ux * ball} ${y2 - uy * ball}`,
      'data-link': `${nodes[link.from]}->${nodes[link.to]}`, onmousemove: e => showTip(e, made.link.text),
      onmouseleave: hideTip, onclick: () => onpick && onpick(made.link)});
    svg.append(made.line);
    if (arrows) svg.append(made.head = element('path'));
    return made;
  });
  const only = node => shown.forEach(({link, line, head}) => {
    const style = node < 0 || link.from === node || link.to === node ? '' : 'opacity:.12';
    line.setAttribute('style', style);
    if (head) head.setAttribute('style', style);
  });
  nodes.forEach((name, i) => {
    const [x, y] = place[i];
    svg.append(element('circle', {cx: x, cy: y, r: ball, fill: 'var(--ground)', stroke: 'var(--ink)',
      onmouseenter: () => only(i), onmousemove: e => showTip(e, nodeText ? nodeText(i) : name),
      onmouseleave: () => { only(-1); hideTip(); }, onclick: () => onnode && onnode(i)}));
    if (!many) {
      const away = Math.hypot(x - centre, y - centre), out = arrows ? 0 : 16;
      const dx = away > 1 ? (x - centre) / away : 0, dy = away > 1 ? (y - centre) / away : 1;
      svg.append(element('text', {class: 'name', x: x + out * dx, y: y + out * dy + 4,
                                  'text-anchor': 'middle', 'pointer-events': 'none'}, name));
    }
  });
  const figure = element('figure', {}, element('figcaption', {}, caption));
  figure.append(svg);
  figure.repaint = next => {
    const most = Math.max(...next.map(link => link.bytes), 1);
    shown.forEach((made, i) => {
      const link = made.link = next[i], busy = Math.round(100 * Math.min(1, link.busy));
      const paint = `color-mix(in srgb, var(--hot) ${busy}%, var(--idle))`;
      const thick = Math.max(many ? 1 : 1.5, thickest * Math.sqrt(link.bytes / most));
      const look = `${paint} ${thick.toFixed(1)}`;
      if (look === made.look) return;
      made.look = look;
      made.line.setAttribute('stroke', paint);
      made.line.setAttribute('stroke-width', thick.toFixed(1));
      if (!made.head) return;
      const {ux, uy, ax, ay} = made, s = 7 + thick;
      made.head.setAttribute('fill', paint);
      made.head.setAttribute('d', `M${ax} ${ay}L${ax - ux * s - uy * s * .6} ${ay - uy * s + ux * s * .6}` +
                                  `L${ax - ux * s + uy * s * .6} ${ay - uy * s - ux * s * .6}Z`);
    });
  };
  figure.repaint(links);
  return figure;
}
