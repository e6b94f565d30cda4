"use strict";
// What a visitor with the scopes may do with a decision. The server is asked first what would happen (dryRun), then
// the visitor confirms; the call is shown in both steps.
{
  const { html } = cstp;
  const { useEffect, useRef, useState } = cstp.hooks;

  const OUTCOMES = ["success", "partial", "failure", "abandoned"];
  const STATUSES = ["draft", "proposed", "pending", "accepted", "rejected", "deprecated", "superseded"];
  const EDGES = ["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"];

  const box = (name, label, more = {}) => ({ name, label, ...more });

  /** Each action: its scopes (any of them), its method, what it asks for, and what it will do, in a sentence. */
  const ACTIONS = {
    review: {
      label: "Review", title: "How did it turn out?", scopes: ["review"], method: "cstp.reviewDecision",
      fields: [box("outcome", "Outcome", { options: OUTCOMES }), box("actualResult", "What happened", { long: true }), box("lessons", "What was learned", { long: true })],
      will: (values, decision) =>
        `Adds a review under your name and makes the outcome of this decision "${values.outcome}"` +
        (decision.outcome ? ` (now: "${decision.outcome}").` : "."),
    },
    status: {
      label: "Set status", title: "Set the status", scopes: ["write"], method: "cstp.setStatus",
      fields: [box("status", "Status", { options: STATUSES }), box("reason", "Reason", { long: true, required: true })],
      will: (values, decision) => `Changes the status from "${decision.status ?? "none"}" to "${values.status}". The reason stays with it.`,
    },
    link: {
      label: "Link", title: "Link with another decision", scopes: ["review"], method: "cstp.linkDecisions",
      fields: [box("edgeType", "This decision …", { options: EDGES }), box("targetId", "… this one (its id)", { required: true }), box("context", "Why")],
      will: (values) => `Adds the link: this decision ${values.edgeType} ${values.targetId}.` +
        (values.edgeType === "supersedes" ? " The other one counts as superseded from then on." : ""),
    },
    forget: {
      label: "Forget", title: "Forget it for good", scopes: ["write"], method: "cstp.forget", danger: true,
      fields: [box("reason", "Why (quote nothing of it; the ledger of erasures keeps this)")],
      will: (_, decision, dry) => `Erases "${decision.title}" with its reviews, links and revisions from the database and every index` +
        `${dry?.cascade ? ` (${summed(dry.cascade)})` : ""}. This cannot be undone.`,
    },
  };

  const summed = (cascade) =>
    Object.entries(cascade).filter(([, found]) => found > 0).map(([name, found]) => `${found} ${found === 1 ? name.replace(/s$/, "") : name}`).join(", ") || "nothing else with it";

  function paramsOf(name, values, decision) {
    if (name === "link") return { sourceId: decision.id, ...values };
    if (name === "forget") return { id: decision.id, kind: "decision", confirm: true, ...values };
    return { id: decision.id, ...values };
  }

  /** A choice has no default: what was not chosen is not sent. */
  function Field({ field, value, change }) {
    const set = (event) => change(event.currentTarget.value);
    if (field.options) {
      return html`<label>${field.label}<select value=${value} required onChange=${set}>
        <option value="" disabled selected=${value === ""}>Choose …</option>
        ${field.options.map((option) => html`<option value=${option} selected=${option === value}>${option}</option>`)}</select></label>`;
    }
    return html`<label>${field.label}${field.long
      ? html`<textarea value=${value} required=${field.required} onInput=${set}></textarea>`
      : html`<input type="text" value=${value} required=${field.required} onInput=${set} />`}</label>`;
  }

  function ActionDialog({ name, decision, close, done }) {
    const action = ACTIONS[name];
    const { call } = cstp.useVisitor();
    const [values, setValues] = useState(Object.fromEntries(action.fields.map((field) => [field.name, ""])));
    const [dry, setDry] = useState(null);
    const [error, setError] = useState(null);
    const [busy, setBusy] = useState(false);
    const place = useRef(null);
    const params = paramsOf(name, values, decision);
    // each step takes the keyboard: the first field, then what confirms; what cannot be undone is read first
    useEffect(() => {
      place.current.querySelector(dry === null ? "select, textarea, input" : action.danger ? ".failure" : ".primary").focus();
    }, [dry === null]);
    const ask = async (more, then) => {
      if (busy) return;
      setBusy(true);
      setError(null);
      try {
        then(await call(action.method, { ...params, ...more }));
      } catch (failure) {
        setError(failure);
      }
      setBusy(false);
    };
    const send = (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit(); // also from a text of many lines
    };
    const check = (event) => {
      event.preventDefault();
      ask({ dryRun: true }, setDry);
    };
    const confirm = () => ask({ idempotencyKey: crypto.randomUUID?.() ?? `page-${Date.now()}-${Math.random()}` }, (result) => done(name, result));
    return html`<${cstp.Dialog} title=${action.title} close=${close}><div ref=${place}>
      ${dry === null
        ? html`<form class="form" onSubmit=${check} onKeyDown=${send}>
            ${action.fields.map((field) => html`<${Field} field=${field} value=${values[field.name]}
              change=${(value) => setValues({ ...values, [field.name]: value })} />`)}
            <div class="actions"><button type="submit" aria-disabled=${busy ? "true" : null}>Continue</button>
              <button type="button" onClick=${close}>Cancel</button></div>
          </form>`
        : html`<p class=${action.danger ? "failure" : "card"} tabindex=${action.danger ? "-1" : null}>${action.will(values, decision, dry)}</p>
          ${(dry.warnings ?? []).map((warning) => html`<p class="hint">${warning.message}</p>`)}
          <div class="actions">
            <button type="button" class=${action.danger ? "danger" : "primary"} aria-disabled=${busy ? "true" : null} onClick=${confirm}>${action.label}</button>
            <button type="button" onClick=${() => setDry(null)}>Back</button>
          </div>`}
      ${error && html`<${cstp.Failure} error=${error} />`}
      <${cstp.CallShown} method=${action.method} params=${params} open=${dry !== null} />
    </div></${cstp.Dialog}>`;
  }

  function DecisionActions({ decision, done }) {
    const visitor = cstp.useVisitor();
    const [open, setOpen] = useState(null);
    const [last, setLast] = useState(null);
    if (!visitor.live) return null;
    const offered = Object.entries(ACTIONS).filter(([, action]) => action.scopes.some(visitor.may));
    const finish = (name) => {
      setOpen(null);
      if (name === "forget") cstp.address.go("decisions");
      else {
        setLast(`Done: ${ACTIONS[name].label.toLowerCase()}.`);
        done();
      }
    };
    if (!offered.length) return html`<p class="hint">Reviews, status, links and forgetting need a token with the scopes write or review.</p>`;
    return html`<div class="actions bar">
        ${offered.map(([name, action]) => html`<button type="button" class=${action.danger ? "danger" : null} onClick=${() => setOpen(name)}>${action.label} …</button>`)}
        <span role="status" class="muted">${last}</span>
      </div>
      ${open && html`<${ActionDialog} name=${open} decision=${decision} close=${() => setOpen(null)} done=${finish} />`}`;
  }

  cstp.DecisionActions = DecisionActions;
}
