"use strict";
// How values are shown. Texts of records are text nodes, or Markdown that was sanitised.
{
  const { html } = cstp;
  const { useLayoutEffect, useMemo, useRef } = cstp.hooks;

  const dayFormat = cstp.once(() => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" }));
  const timeFormat = cstp.once(() => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }));

  /** A time as a day, or with the hour; the whole of it in the tooltip. A date of git is that of a first commit. */
  function Time({ at, hours = false, source }) {
    if (!at) return html`<span class="none">–</span>`;
    const moment = new Date(at);
    if (Number.isNaN(moment.valueOf())) return html`<span>${String(at)}</span>`;
    const text = (hours ? timeFormat : dayFormat)().format(moment);
    return html`<time datetime=${at} title=${at}>${text}</time>${source === "git" ? " (first commit)" : ""}`;
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

  const LONG = 5; // letters of a word that is compared without its ending; "not" is no beginning of "nothing"
  const ENDING = /(?<=^.{4,})(?:ing|ed|es|e|s)$/;
  const ENDINGS = "(?:e?s|e?d|e|ings?|er[ns]?|e[mn]|[nt])?";

  /** What matches the words of a query and their inflected forms, as searches find these; null without any. */
  function wordPattern(query) {
    const forms = words(query).map((word) => {
      const ending = word.length < LONG ? (word.length < 4 ? "" : "(?:s|ed|ing)?") : ENDINGS;
      return `${word.length < LONG ? word : word.replace(ENDING, "")}${ending}`;
    });
    return forms.length ? new RegExp(`(?<![\\p{L}\\p{N}])(?:${forms.join("|")})(?![\\p{L}\\p{N}])`, "giu") : null;
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

  const SHORT = 28; // characters of a cell that is kept in one line, such as a number with its unit

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
      for (const table of fragment.querySelectorAll("table, pre")) table.tabIndex = 0; // they scroll
      for (const cell of fragment.querySelectorAll("td, th")) {
        cell.className = cell.textContent.length > SHORT ? "long" : "short";
      }
      markWords(fragment, query);
      place.current.replaceChildren(fragment);
    }, [text, query]);
    return html`<div class="markdown" ref=${place}></div>`;
  }

  const MOST_SNIPPET = 1000; // characters that are read for the few lines that are shown
  const FENCE = /^[ \t]*(?:```|~~~).*$/gm;

  /** A piece of Markdown that was cut anywhere, without the halves of blocks: no open fence, and rows of a table as items. */
  function mended(text) {
    const whole = (text.match(FENCE) ?? []).length % 2 ? text.replace(FENCE, "") : text;
    return whole
      .replace(/^[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-{3,}:?[ \t]*)*\|?[ \t]*$/gm, "")
      .replace(/^(?:[ \t]*\|.*|.*\|[ \t]*)$/gm, (row) => {
        const cells = row.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/);
        return `- ${cells.map((cell) => cell.trim()).join(" · ")}`;
      });
  }

  /** Tokens of Markdown as the running text of a snippet: emphasis and code stay, blocks follow each other. */
  function running(tokens, query) {
    return tokens.map((token) => {
      const inner = () => (token.tokens ? running(token.tokens, query) : html`<${Marked} text=${token.text ?? ""} query=${query} />`);
      switch (token.type) {
        case "space":
        case "hr":
        case "def":
          return null;
        case "br":
          return " ";
        case "heading":
          return html`<b>${inner()}</b> `;
        case "strong":
          return html`<strong>${inner()}</strong>`;
        case "em":
          return html`<em>${inner()}</em>`;
        case "code":
        case "codespan":
          return html`<code><${Marked} text=${token.text} query=${query} /></code>${token.type === "code" && " "}`;
        case "list":
          return token.items.map((item) => html`<span class="item">${running(item.tokens, query)}</span> `);
        case "paragraph":
        case "blockquote":
          return html`${inner()} `;
        default:
          return inner();
      }
    });
  }

  /** A piece of a record's text in a few lines, its Markdown read, the words of a query marked. Only texts are made. */
  function Snippet({ text, query, short = false, lead = null }) {
    const shown = useMemo(() => running(markdown.lexer(mended((text ?? "").slice(0, MOST_SNIPPET))), query), [text, query]);
    return html`<p class=${short ? "snippet short" : "snippet"}>${lead}${shown}</p>`;
  }

  /** The beginning of a text in one line, without the marks of Markdown, to name what has no title. */
  const plain = (text) =>
    text.slice(0, MOST_SNIPPET).replace(/^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+/gm, "").replace(/\*\*|__|`+/g, "").replace(/\s+/g, " ").trim();

  const counted = cstp.once(() => new Intl.NumberFormat());
  const count = (number) => counted().format(number);
  const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

  /** How many were found, of which an answer gives no more than `most`. */
  const found = (number, one, most) => (number === most ? `The first ${plural(number, one)}` : plural(number, one));

  /** The title of a passage: its document and the section in it, each once. */
  function passageTitle({ id, title, source = null, place }) {
    const section = place?.section ?? (title === source ? null : title);
    return [...new Set([source ?? title, section])].filter(Boolean).join(" › ") || String(id);
  }

  Object.assign(cstp, { Time, Percent, Pill, Marked, Markdown, Snippet, plain, excerpt, count, plural, found, passageTitle });
}
