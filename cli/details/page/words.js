// What all pages use: elements, numbers as people write them, tables, and the text beside the pointer. Names come from
// models and may be anything: they only ever become text, never markup.
"use strict";

const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  for (const child of children) made.append(child);
  return made;
}

function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "onclick")
      made.addEventListener("click", value);
    else if (name === "style")
      made.style.cssText = value;
    else
      made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const whole = (number) => Math.round(number).toLocaleString("en-US");
function significant(number) {
  const size = Math.abs(number);
  return size >= 100 ? whole(number) :
      size >= 10     ? number.toFixed(1) :
      size >= 1      ? number.toFixed(2) :
                       number.toPrecision(2);
}
function time(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return "0 µs";
  if (size >= 1) return `${significant(seconds)} s`;
  if (size >= 1e-3) return `${significant(seconds * 1e3)} ms`;
  return `${size < 1e-8 ? (seconds * 1e6).toFixed(3) : significant(seconds * 1e6)} µs`;
}
function bytes(number) {
  for (const unit of ["bytes", "KiB", "MiB", "GiB", "TiB"]) {
    if (Math.abs(number) < 999.5 || unit === "TiB")
      return `${unit === "bytes" ? whole(number) : significant(number)} ${unit}`;
    number /= 1024;
  }
}
// "231 million" for large counts.
function large(number) {
  const found = [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]].find(([size]) => number >= size);
  return found ? `${significant(number / found[0])} ${found[1]}` : whole(number);
}
// Two digits of what is predicted; with its bounds, three of what was measured.
const speed = (ratio) => `${ratio.toFixed(2)} times as fast`;
const measured = ({ratio, low, high}) => `${ratio.toFixed(3)} times as fast (${low.toFixed(3)} to ${high.toFixed(3)})`;
const range = ({low, high}) => `${low.toFixed(3)} to ${high.toFixed(3)}`;
// Beyond noise, and beyond what the place of memory makes out; the same limits decide what taso-opt keeps.
const isFaster = (ratio) => ratio.low > 1.01;
const isSlower = (ratio) => ratio.high < 0.99;
function percent(share) {
  const number = 100 * share;
  return `${number !== 0 && Math.abs(number) < 9.95 ? number.toFixed(1) : number.toFixed(0)} %`;
}
const plural = (count, one, many) => `${whole(count)} ${count === 1 ? one : many || one + "s"}`;
function table(heads, rows, numbers, kind = "") {
  const cell = (tag, content, i) => el(tag, numbers.includes(i) ? {class: "number"} : {}, content);
  return el(
      "div", {class: "scroll"},
      el("table", {class: `${kind}${heads.length > 4 ? " wide" : ""}`},
         el("thead", {}, el("tr", {}, ...heads.map((head, i) => cell("th", head, i)))),
         el("tbody", {},
            ...rows.map(
                (row) => el(
                    "tr", row.changed || row.kind ? {class: `${row.changed ? "changed " : ""}${row.kind || ""}`} : {},
                    ...row.cells.map((content, i) => cell("td", content, i)))))));
}

function definitions(rows) {
  const list = el("dl", {});
  for (const [name, ...content] of rows)
    if (content.some((one) => one !== null && one !== "")) list.append(el("dt", {}, name), el("dd", {}, ...content));
  return list;
}

function showTip(text, x, y) {
  const tip = document.getElementById("tip");
  tip.textContent = text;
  tip.hidden = !text;
  const width = tip.offsetWidth, height = tip.offsetHeight;
  tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${y + 18 + height > innerHeight ? y - height - 12 : y + 18}px`;
}

function hideTip() { document.getElementById("tip").hidden = true; }
