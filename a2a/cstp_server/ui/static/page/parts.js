"use strict";
// Small parts that pages are made of.
{
  const { html } = cstp;
  const { useEffect, useRef, useState } = cstp.hooks;

  /** What a call came to: an error in place, a placeholder while nothing is known yet, else what `show` makes of it. */
  function Answer({ of, show, empty, isEmpty, lines = 6 }) {
    if (of.error && !of.result) return html`<${Failure} error=${of.error} again=${of.again} />`;
    if (!of.result) return of.loading ? html`<${Placeholder} lines=${lines} />` : null;
    if (isEmpty?.(of.result) && of.loading) return html`<p class="empty" role="status">Looking …</p>`; // that was of an earlier question
    if (isEmpty?.(of.result)) return html`<p class="empty">${empty ?? "There is nothing to show."}</p>`;
    return html`${of.error && html`<${Failure} error=${of.error} again=${of.again} />`}${show(of.result)}`;
  }

  function Failure({ error, again }) {
    return html`<div class="failure" role="alert">
      <p>${error.message}</p>
      ${again && html`<button type="button" onClick=${again}>Try again</button>`}
    </div>`;
  }

  /** Grey lines of the size of what comes, so that nothing moves when it does. */
  function Placeholder({ lines }) {
    return html`<div class="placeholder" role="status" aria-label="Loading">
      ${Array.from({ length: lines }, () => html`<div></div>`)}
    </div>`;
  }

  /** A filter that is on or off; `found` is how many records it has. */
  function Chip({ label, found, on, toggle }) {
    return html`<button type="button" class="chip" aria-pressed=${on ? "true" : "false"} onClick=${toggle}>
      ${label}${found !== undefined && found !== null && html` <span class="found">${cstp.count(found)}</span>`}
    </button>`;
  }

  /** A select with a visible label. `options` are values, or pairs of value and label. */
  function Choice({ label, value, options, change }) {
    return html`<label class="choice"
      >${label}
      <select value=${value} onChange=${(event) => change(event.currentTarget.value)}>
        ${options.map((option) => {
          const [of, text] = Array.isArray(option) ? option : [option, option];
          return html`<option value=${of} selected=${of === value}>${text}</option>`;
        })}
      </select>
    </label>`;
  }

  function Copy({ text, label = "Copy" }) {
    const [done, setDone] = useState(false);
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        const area = document.createElement("textarea"); // where the browser gives no clipboard to plain HTTP
        area.value = text;
        (document.querySelector("dialog[open]") ?? document.body).append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
      }
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    };
    return html`<button type="button" class="small" onClick=${copy}>${done ? "Copied" : label}</button>`;
  }

  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

  function pythonValue(value) {
    if (value === null) return "None";
    if (typeof value === "boolean") return value ? "True" : "False";
    if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
    if (typeof value === "object") {
      return `{${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonValue(one)}`).join(", ")}}`;
    }
    return JSON.stringify(value);
  }

  /** The same call for a terminal, for Python and as JSON. */
  function spelled(method, params) {
    const entries = Object.entries(cstp.dense(params));
    const shell = entries.map(([name, value]) =>
      typeof value === "string" ? quoted(`${name}=${value}`) : quoted(`${name}:=${JSON.stringify(value)}`),
    );
    const named = entries.map(([name, value]) => `${snake(name)}=${pythonValue(value)}`);
    return {
      cstp: ["cstp call", method, ...shell].join(" "),
      Python: `client.${snake(method.replace(/^cstp\./, ""))}(${named.join(", ")})`,
      JSON: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: Object.fromEntries(entries) }),
    };
  }

  /** Shows which call was or will be made, to be copied. */
  function CallShown({ method, params, open = false }) {
    if (!cstp.useVisitor().live) return null; // there is nothing to call
    return html`<details class="call-shown" open=${open}>
      <summary>The call: <code>${method}</code></summary>
      ${Object.entries(spelled(method, params)).map(
        ([form, text]) => html`<div class="form-of-call">
          <span>${form}</span><code tabindex="0">${text}</code><${Copy} text=${text} label=${`Copy for ${form}`} />
        </div>`,
      )}
    </details>`;
  }

  /** A modal dialog; the browser keeps the focus inside and closes it at Escape. */
  function Dialog({ title, close, children }) {
    const place = useRef(null);
    useEffect(() => {
      const dialog = place.current;
      dialog.showModal();
      return () => dialog.close();
    }, []);
    return html`<dialog ref=${place} aria-labelledby="dialog-title" onClose=${close}>
      <header>
        <h2 id="dialog-title">${title}</h2>
        <button type="button" class="small" aria-label="Close" onClick=${() => place.current.close()}>×</button>
      </header>
      ${children}
    </dialog>`;
  }

  /** A link to the page of a record. */
  function RecordLink({ type, id, children, params }) {
    return html`<a href=${cstp.address.recordAddress(type, id, params)}>${children ?? id}</a>`;
  }

  /** Names and values, those that have one. */
  function Facts({ rows }) {
    const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
    return html`<dl class="facts">
      ${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
    </dl>`;
  }

  /** A heading of a page, its title in the window's, and what stands at its right. */
  function PageHead({ title, children }) {
    useEffect(() => {
      document.title = `${title} – ${cstp.name ?? "CSTP"}`;
    }, [title]);
    return html`<header class="page-head"><h1 tabindex="-1">${title}</h1>${children}</header>`;
  }

  Object.assign(cstp, {
    Answer, Failure, Placeholder, Chip, Choice, Copy, CallShown, Dialog, RecordLink, Facts, PageHead, spelled,
  });
}
