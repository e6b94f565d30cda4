"use strict";
// The methods of the server, from its own description of them, with a call of each to copy.
{
  const { html } = cstp;
  const { useEffect, useRef, useState } = cstp.hooks;

  const matches = (method, text) =>
    text.toLowerCase().split(/\s+/).every((word) => `${method.name} ${method.summary}`.toLowerCase().includes(word));

  /** The type of a parameter in a few words. */
  function typeOf(schema) {
    const any = (schema.anyOf ?? [schema]).filter((one) => one.type !== "null");
    return any
      .map((one) => {
        if (one.enum) return one.enum.map((value) => JSON.stringify(value)).join(" or ");
        if (one.type === "array") return `list of ${one.items ? typeOf(one.items) : "anything"}`;
        return one.format ?? one.type ?? "object";
      })
      .join(" or ");
  }

  function Parameters({ params }) {
    if (!params.length) return html`<p>It takes no parameters.</p>`;
    return html`<dl class="facts">
      ${params.map((one) => html`<div key=${one.name}>
        <dt><code>${one.name}</code></dt>
        <dd>${one.required && html`<b>required</b>, `}${typeOf(one.schema)}${one.description && html`<br /><span class="muted">${one.description}</span>`}</dd>
      </div>`)}
    </dl>`;
  }

  function Method({ method, open }) {
    const place = useRef(null);
    useEffect(() => {
      if (open) place.current.scrollIntoView({ block: "start" });
    }, [open]);
    const example = method.examples?.[0];
    const params = Object.fromEntries((example?.params ?? []).map(({ name, value }) => [name, value]));
    return html`<details class="method-entry" open=${open} ref=${place}>
      <summary data-row>
        <code>${method.name}</code> <span class="muted">${method["x-scope"] ?? "no scope"}, costs ${method["x-cost"]}</span>
        <span class="summary">${method.summary}</span>
      </summary>
      <p class="text">${method.description}</p>
      <${Parameters} params=${method.params} />
      <${cstp.CallShown} method=${method.name} params=${params} open />
    </details>`;
  }

  function List({ wanted }) {
    const found = cstp.useCall("rpc.discover", {});
    const [text, setText] = useState("");
    return html`<${cstp.Answer} of=${found} lines=${30} show=${({ methods }) => {
      const shown = text.trim() ? methods.filter((method) => matches(method, text.trim())) : methods;
      return html`<div class="bar">
          <label class="choice wide">Name or words
            <input type="search" autocomplete="off" spellcheck=${false} value=${text} onInput=${(event) => setText(event.currentTarget.value)} />
          </label>
          <span class="muted" role="status">${cstp.plural(shown.length, "method")}</span>
          <a href="../openrpc.json" target="_blank" rel="noopener">The whole description (OpenRPC)</a>
        </div>
        <div class="methods">
          ${shown.map((method) => html`<${Method} key=${method.name} method=${method} open=${method.name === wanted} />`)}
          ${!shown.length && html`<p class="empty">No method has these words.</p>`}
        </div>`;
    }} />`;
  }

  /** The description is large, so it is asked for when it is first opened. */
  function MethodList({ wanted }) {
    const [open, setOpen] = useState(Boolean(wanted));
    useEffect(() => {
      if (wanted) setOpen(true);
    }, [wanted]);
    return html`<section>
      <h2>Methods</h2>
      ${open
        ? html`<${List} wanted=${wanted} />`
        : html`<p><button type="button" onClick=${() => setOpen(true)}>Show what this server answers</button></p>`}
    </section>`;
  }

  cstp.MethodList = MethodList;
}
