"use strict";
// How values are shown. Texts of records are text nodes, or Markdown that was sanitised.
{
  const { html } = cstp;
  const { useLayoutEffect, useRef } = cstp.hooks;

  const dayFormat = cstp.once(() => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" }));
  const timeFormat = cstp.once(() => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }));

  /** A time as a day, or with the hour; the whole of it in the tooltip. */
  function Time({ at, hours = false }) {
    if (!at) return html`<span class="none">–</span>`;
    const moment = new Date(at);
    if (Number.isNaN(moment.valueOf())) return html`<span>${String(at)}</span>`;
    const text = (hours ? timeFormat : dayFormat)().format(moment);
    return html`<time datetime=${at} title=${at}>${text}</time>`;
  }

  function Percent({ value }) {
    if (value === null || value === undefined) return html`<span class="none">–</span>`;
    const text = `${Math.round(value * 100)} %`;
    return html`<span class="percent"><meter min="0" max="1" value=${value} aria-label=${text}></meter>${text}</span>`;
  }

  /** A status, outcome or kind, with a colour and its word. */
  function Pill({ kind, value }) {
    if (!value) return html`<span class="none">–</span>`;
    return html`<span class=${`pill ${kind} ${String(value).replace(/[^a-z_-]/gi, "")}`}>${value}</span>`;
  }

  const words = (query) =>
    [...new Set((query ?? "").toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [])].filter((word) => word.length > 2);

  /** What matches the words of a query, by their beginnings, as searches find inflected words; null without any. */
  function wordPattern(query) {
    const roots = words(query).map((word) => word.slice(0, Math.max(3, Math.ceil(word.length * 0.75))));
    return roots.length ? new RegExp(`(?<![\\p{L}\\p{N}])(?:${roots.join("|")})[\\p{L}\\p{N}]*`, "giu") : null;
  }

  /** A text in which the words of a query are marked. */
  function Marked({ text, query }) {
    const pattern = wordPattern(query);
    if (pattern === null || !text) return html`${text}`;
    const parts = [];
    let last = 0;
    for (const match of text.matchAll(pattern)) {
      parts.push(text.slice(last, match.index), html`<mark>${match[0]}</mark>`);
      last = match.index + match[0].length;
    }
    return html`${[...parts, text.slice(last)]}`;
  }

  /** The part of a long text around the first word of a query, or its beginning. */
  function excerpt(text, query, before = 80) {
    const at = text.search(wordPattern(query) ?? /^/);
    return at > before ? `… ${text.slice(text.indexOf(" ", at - before) + 1)}` : text;
  }

  /** Marks the words of a query in elements that exist already. */
  function markWords(root, query) {
    const pattern = wordPattern(query);
    if (pattern === null) return;
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    for (const node of nodes) {
      const parts = [];
      let last = 0;
      for (const match of node.data.matchAll(pattern)) {
        const mark = document.createElement("mark");
        mark.append(match[0]);
        parts.push(node.data.slice(last, match.index), mark);
        last = match.index + match[0].length;
      }
      if (parts.length) node.replaceWith(...parts, node.data.slice(last));
    }
  }

  const escaped = (text) => text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

  // markup in a record is shown as it was written
  const markdown = new marked.Marked({ gfm: true, renderer: { html: ({ text }) => escaped(text) } });

  /** Only what Markdown makes is let through: the second wall, should the first one have a hole. */
  const purified = {
    RETURN_DOM_FRAGMENT: true,
    ALLOWED_TAGS: [
      ..."p br hr strong em del code pre blockquote ul ol li a h1 h2 h3 h4 h5 h6".split(" "),
      ..."table thead tbody tr th td".split(" "),
    ],
    ALLOWED_ATTR: ["href", "title", "start", "align"],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
  };

  /** Markdown as elements, with the words of a query marked. Headings are paragraphs; links open without a referrer. */
  function Markdown({ text, query }) {
    const place = useRef(null);
    useLayoutEffect(() => {
      const fragment = DOMPurify.sanitize(markdown.parse(text ?? ""), purified);
      for (const link of fragment.querySelectorAll("a[href]")) {
        link.rel = "noopener noreferrer nofollow";
        link.target = "_blank";
      }
      for (const heading of fragment.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
        const lower = document.createElement("p");
        lower.className = "heading";
        lower.append(...heading.childNodes);
        heading.replaceWith(lower);
      }
      for (const table of fragment.querySelectorAll("table, pre")) table.tabIndex = 0;
      markWords(fragment, query);
      place.current.replaceChildren(fragment);
    }, [text, query]);
    return html`<div class="markdown" ref=${place}></div>`;
  }

  const counted = cstp.once(() => new Intl.NumberFormat());
  const count = (number) => counted().format(number);
  const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

  Object.assign(cstp, { Time, Percent, Pill, Marked, Markdown, excerpt, count, plural });
}
