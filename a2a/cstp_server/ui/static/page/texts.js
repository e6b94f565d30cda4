"use strict";
// How values are shown. Texts of records are text nodes, or Markdown that was sanitised.
{
  const { html } = cstp;
  const { useLayoutEffect, useRef } = cstp.hooks;

  const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
  const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

  /** A time as a day, or with the hour; the whole of it in the tooltip. */
  function Time({ at, hours = false }) {
    if (!at) return html`<span class="none">–</span>`;
    const moment = new Date(at);
    if (Number.isNaN(moment.valueOf())) return html`<span>${String(at)}</span>`;
    const text = (hours ? timeFormat : dayFormat).format(moment);
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

  /** A text in which the words of a query are marked, by their beginnings, as searches find inflected words. */
  function Marked({ text, query }) {
    const roots = words(query).map((word) => word.slice(0, Math.max(3, Math.ceil(word.length * 0.75))));
    if (!roots.length || !text) return html`${text}`;
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${roots.join("|")})[\\p{L}\\p{N}]*`, "giu");
    const parts = [];
    let last = 0;
    for (const match of text.matchAll(pattern)) {
      parts.push(text.slice(last, match.index), html`<mark>${match[0]}</mark>`);
      last = match.index + match[0].length;
    }
    return html`${[...parts, text.slice(last)]}`;
  }

  const purified = {
    RETURN_DOM_FRAGMENT: true,
    USE_PROFILES: { html: true },
    FORBID_TAGS: ["style", "form", "input", "button", "textarea", "select", "img", "picture", "video", "audio", "map"],
    FORBID_ATTR: ["style", "class", "id", "name", "background", "srcset", "src", "ping", "target"],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    ALLOW_DATA_ATTR: false,
  };

  /** Markdown as elements. Headings start at the third level, links leave the page in a window without a referrer. */
  function Markdown({ text }) {
    const place = useRef(null);
    useLayoutEffect(() => {
      const fragment = DOMPurify.sanitize(marked.parse(text ?? "", { gfm: true }), purified);
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
      place.current.replaceChildren(fragment);
    }, [text]);
    return html`<div class="markdown" ref=${place}></div>`;
  }

  const counted = new Intl.NumberFormat();
  const count = (number) => counted.format(number);
  const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

  Object.assign(cstp, { Time, Percent, Pill, Marked, Markdown, count, plural });
}
