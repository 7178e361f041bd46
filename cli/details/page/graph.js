// Draws a graph in layers, from top to bottom. Only what is visible is in the document, so thousands of nodes stay
// fluid; laying them out takes time in proportion to nodes and edges, apart from sorting.
"use strict";

// A graph to lay out has items { width, height } in topological order and edges [from, to]. Edges that span more layers
// than this are not drawn through all of them.
const LONGEST_EDGE = 14;
const GAP_X = 18, GAP_Y = 34;
const LEAST_SCALE = 0.2;

function layOut(items, edges) {
  const count = items.length, layer = new Array(count).fill(0);
  const down = items.map(() => []), up = items.map(() => []);
  for (const [from, to] of edges) {
    down[from].push(to);
    up[to].push(from);
  }
  for (let i = 0; i < count; ++i)
    for (const next of down[i]) layer[next] = Math.max(layer[next], layer[i] + 1);
  // What nothing precedes stands right above its first user.
  for (let i = count - 1; i >= 0; --i)
    if (!up[i].length && down[i].length)
      layer[i] = Math.max(0, down[i].reduce((least, to) => Math.min(least, layer[to]), Infinity) - 1);

  // Points are items and the bends of edges; each point has neighbours one layer up and down.
  const points = items.map((item, i) => ({item: i, layer: layer[i], width: item.width, up: [], down: []}));
  const segments = [], far = [];
  for (const [from, to] of edges) {
    if (layer[to] - layer[from] > LONGEST_EDGE) {
      far.push([from, to]);
      continue;
    }
    let last = from;
    for (let at = layer[from] + 1; at < layer[to]; ++at) {
      points.push({item: -1, layer: at, width: 8, up: [], down: []});
      segments.push([last, points.length - 1]);
      last = points.length - 1;
    }
    segments.push([last, to]);
  }
  for (const [a, b] of segments) {
    points[a].down.push(b);
    points[b].up.push(a);
  }
  const layers = [];
  points.forEach((point, i) => {
    (layers[point.layer] ||= []).push(i);
  });
  for (let i = 0; i < layers.length; ++i) layers[i] ||= [];
  orderLayers(points, layers);
  placePoints(points, layers);
  straighten(points, layers);
  const heights = layers.map(
      (list) => list.reduce((most, i) => Math.max(most, points[i].item < 0 ? 0 : items[points[i].item].height), 0));
  let y = 16;
  const tops = heights.map((height) => {
    const top = y;
    y += height + GAP_Y;
    return top;
  });
  let left = Infinity, right = -Infinity;
  for (const point of points) {
    left = Math.min(left, point.x - point.width / 2);
    right = Math.max(right, point.x + point.width / 2);
  }
  for (const point of points) {
    point.x += 16 - left;
    point.top = tops[point.layer];
    point.height = point.item < 0 ? heights[point.layer] : items[point.item].height;
  }
  return {points, layers, segments, far, tops, heights, width: count ? right - left + 32 : 0, height: y - GAP_Y + 16};
}

// Sorts each layer by the mean position of the neighbours in the layer before, a few times down and up.
function orderLayers(points, layers) {
  const place = (list) => list.forEach((i, position) => {
    points[i].place = position;
  });
  layers.forEach(place);
  for (let sweep = 0; sweep < 6; ++sweep) {
    const side = sweep % 2 === 0 ? "up" : "down";
    const order = sweep % 2 === 0 ? layers : [...layers].reverse();
    for (const list of order) {
      for (const i of list) {
        const near = points[i][side];
        points[i].key = near.length ? near.reduce((sum, j) => sum + points[j].place, 0) / near.length : points[i].place;
      }
      list.sort((a, b) => points[a].key - points[b].key || points[a].place - points[b].place);
      place(list);
    }
  }
}

// Puts each point below and above its neighbours as far as the others of its layer leave room: neighbouring points that
// want the same room share the difference.
function placePoints(points, layers) {
  for (const list of layers) {
    let x = 0;
    for (const i of list) {
      points[i].x = x + points[i].width / 2;
      x += points[i].width + GAP_X;
    }
    for (const i of list) points[i].x -= x / 2;
  }
  for (let sweep = 0; sweep < 8; ++sweep) {
    const side = sweep % 2 === 0 ? "up" : "down";
    for (const list of sweep % 2 === 0 ? layers : [...layers].reverse()) {
      const blocks = [];
      for (const i of list) {
        const near = points[i][side].length ? points[i][side] : [...points[i].up, ...points[i].down];
        const wish = near.length ? near.reduce((sum, j) => sum + points[j].x, 0) / near.length : points[i].x;
        const weight = points[i].item < 0 ? 3 : 1;
        let block = {members: [i], width: points[i].width, centre: wish, weight};
        while (blocks.length) {
          const before = blocks[blocks.length - 1];
          if (before.centre + before.width / 2 + GAP_X <= block.centre - block.width / 2) break;
          blocks.pop();
          // Where both would stand if they could, as the left edge of the two together.
          const leftWish = before.centre - before.width / 2,
                rightWish = block.centre - block.width / 2 - before.width - GAP_X;
          const weights = before.weight + block.weight, width = before.width + GAP_X + block.width;
          const left = (leftWish * before.weight + rightWish * block.weight) / weights;
          block = {members: before.members.concat(block.members), width, centre: left + width / 2, weight: weights};
        }
        blocks.push(block);
      }
      for (const block of blocks) {
        let x = block.centre - block.width / 2;
        for (const i of block.members) {
          points[i].x = x + points[i].width / 2;
          x += points[i].width + GAP_X;
        }
      }
    }
  }
}

// Long graphs drift to one side, a little in each layer. Takes away the drift, and leaves what is near as it is.
function straighten(points, layers) {
  const reach = 40, sums = [0];
  for (const list of layers) {
    const places = list.map((i) => points[i].x);
    const middle =
        list.length ? (places.reduce((a, b) => Math.min(a, b)) + places.reduce((a, b) => Math.max(a, b))) / 2 : 0;
    sums.push(sums[sums.length - 1] + middle);
  }
  layers.forEach((list, at) => {
    const from = Math.max(0, at - reach), to = Math.min(layers.length, at + reach + 1);
    const mean = (sums[to] - sums[from]) / (to - from);
    for (const i of list) points[i].x -= mean;
  });
}

// A scrolling window onto a graph. `choose` is called with the item that was clicked, `tell` gives the text to show for
// an item while the pointer is over it.
class GraphWindow {
  constructor(host, zoom, {choose, tell}) {
    this.host = host;
    this.choose = choose;
    this.tell = tell;
    this.scale = 1;
    this.space = document.createElement("div");
    this.space.className = "space";
    this.picture = svg("svg", {});
    const steps = [
      ["−", "Smaller", () => this.zoom(0.8)], ["+", "Larger", () => this.zoom(1.25)],
      ["fit", "The whole width", () => this.zoom(this.scaleOfWidth() / this.scale)],
      ["1:1", "Full size", () => this.zoom(1 / this.scale)]
    ];
    for (const [sign, about, act] of steps) {
      const button = document.createElement("button");
      button.textContent = sign;
      button.title = button.ariaLabel = about;
      button.addEventListener("click", act);
      zoom.append(button);
    }
    host.append(this.space, this.picture);
    host.addEventListener("scroll", () => this.later(), {passive: true});
    host.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.15 : 0.87);
    }, {passive: false});
    new ResizeObserver(() => this.later()).observe(host);
    this.picture.addEventListener("click", (event) => this.chosen(event.target));
    this.dragBy(host);
    this.picture.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.chosen(event.target);
      }
    });
    this.picture.addEventListener("pointermove", (event) => {
      const item = this.itemAt(event.target);
      if (item)
        showTip(this.tell(item), event.clientX, event.clientY);
      else
        hideTip();
    });
    this.picture.addEventListener("pointerleave", hideTip);
  }

  // Drags what is seen with the mouse; fingers scroll by themselves.
  dragBy(host) {
    let from = null;
    this.picture.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button !== 0 || this.itemAt(event.target)) return;
      from = [event.clientX + host.scrollLeft, event.clientY + host.scrollTop];
    });
    addEventListener("pointermove", (event) => {
      if (!(event.buttons & 1)) from = null;
      if (!from) return;
      host.scrollLeft = from[0] - event.clientX;
      host.scrollTop = from[1] - event.clientY;
    });
  }

  scaleOfWidth() { return Math.min(1, Math.max(LEAST_SCALE, this.host.clientWidth / this.laid.width)); }

  show(items, edges) {
    this.items = items;
    this.laid = layOut(items, edges);
    this.isNew = true;
    this.fit();
    this.draw();
  }

  // Begins at a scale at which a small graph is visible as a whole, and at the top, where the graph begins.
  fit(scale) {
    const {host, laid} = this;
    if (!host.clientWidth) return;
    this.isNew = false;
    this.scale = scale || Math.min(1, Math.max(0.75, host.clientWidth / laid.width));
    this.resize();
    const first = laid.layers.find((list) => list.length) || [];
    const middle = first.reduce((sum, i) => sum + laid.points[i].x, 0) / Math.max(1, first.length);
    host.scrollTop = 0;
    host.scrollLeft = middle * this.scale - host.clientWidth / 2;
  }

  resize() {
    this.space.style.width = `${this.laid.width * this.scale}px`;
    this.space.style.height = `${this.laid.height * this.scale}px`;
  }

  zoom(factor) {
    const {host} = this, scale = Math.min(2, Math.max(LEAST_SCALE, this.scale * factor)), ratio = scale / this.scale;
    const x = host.scrollLeft + host.clientWidth / 2, y = host.scrollTop + host.clientHeight / 2;
    this.scale = scale;
    this.resize();
    host.scrollLeft = x * ratio - host.clientWidth / 2;
    host.scrollTop = y * ratio - host.clientHeight / 2;
    this.draw();
  }

  // Marks an item and brings it into view.
  mark(key, scrolls) {
    this.marked = key;
    const point =
        scrolls && this.laid && this.laid.points.find((one) => one.item >= 0 && this.items[one.item].key === key);
    if (point) {
      this.host.scrollTop = point.top * this.scale - this.host.clientHeight / 2;
      this.host.scrollLeft = point.x * this.scale - this.host.clientWidth / 2;
    }
    this.later();
    return Boolean(point);
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    if (!this.laid) return;
    if (this.isNew) this.fit();
    const {host, laid, scale, picture} = this;
    const width = host.clientWidth, height = host.clientHeight;
    const left = host.scrollLeft / scale, top = host.scrollTop / scale;
    // A small graph stands in the middle.
    const shift = Math.max(0, (width / scale - laid.width) / 2);
    picture.setAttribute("width", width);
    picture.setAttribute("height", height);
    picture.setAttribute("viewBox", `${left - shift} ${top} ${width / scale} ${height / scale}`);
    const low = top - 120, high = top + height / scale + 120;
    const parts = [];
    const isVisible = (from, to) => to.top >= low && from.top + from.height <= high;
    for (const [a, b] of laid.segments) {
      const from = laid.points[a], to = laid.points[b];
      if (isVisible(from, to)) parts.push(edgeOf(from, to, "edge"));
    }
    for (const [a, b] of laid.far) {
      const from = laid.points[a], to = laid.points[b];
      if (to.top >= low && to.top <= high)
        parts.push(svg(
            "path",
            {class: "edge far", d: `M${to.x - 26} ${to.top - 20} Q${to.x - 22} ${to.top - 6} ${to.x - 8} ${to.top}`}));
      if (from.top >= low && from.top <= high)
        parts.push(svg("path", {class: "edge far", d: `M${from.x + 8} ${from.top + from.height} q12 6 16 18`}));
    }
    laid.layers.forEach((list, i) => {
      if (laid.tops[i] > high || laid.tops[i] + laid.heights[i] < low) return;
      for (const index of list)
        if (laid.points[index].item >= 0) parts.push(this.nodeOf(laid.points[index]));
    });
    picture.replaceChildren(...parts);
  }

  nodeOf(point) {
    const item = this.items[point.item];
    const kind = `node ${item.style || ""}${item.key === this.marked ? " chosen" : ""}`;
    const group = svg("g", {
      class: kind,
      tabindex: 0,
      role: "button",
      "data-item": point.item,
      transform: `translate(${point.x - point.width / 2} ${point.top})`
    });
    group.append(svg("rect", {width: point.width, height: point.height, rx: 8}));
    item.lines.forEach((line, i) => {
      const y = point.height / 2 + (i - (item.lines.length - 1) / 2) * 15.5 + 4;
      group.append(svg("text", {x: point.width / 2, y, class: line.kind}, line.text));
    });
    return group;
  }

  itemAt(target) {
    const group = target.closest && target.closest(".node");
    return group ? this.items[Number(group.getAttribute("data-item"))] : null;
  }

  chosen(target) {
    const item = this.itemAt(target);
    if (item) this.choose(item);
  }
}

function edgeOf(from, to, kind) {
  const y = from.top + from.height, middle = (y + to.top) / 2;
  // A bend is as high as its layer: the line goes straight through it.
  const lead = from.item < 0 ? `M${from.x} ${from.top} L${from.x} ${y}` : `M${from.x} ${y}`;
  return svg("path", {class: kind, d: `${lead} C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.top}`});
}
