"use strict";
// What the files of this page share. Each adds its part to `cstp`; index.html names them in their order.
const cstp = { pages: Object.create(null) }; // no name of a prototype is a page

cstp.html = htm.bind(preact.h);
cstp.hooks = preactHooks;
cstp.Fragment = preact.Fragment;

/** The visitor's connection, for every component: { call, agent, scopes, server, readOnly }. */
cstp.Visitor = preact.createContext(null);
cstp.useVisitor = () => preactHooks.useContext(cstp.Visitor);

/** A function that makes a value at the first call: formats of dates take milliseconds each that a page may not need. */
cstp.once = (make) => {
  let made;
  return () => (made ??= make());
};

/** Loads a library of vendor/ once, when a page first needs it. */
cstp.library = (() => {
  const loading = new Map();
  const base = document.currentScript.src.replace(/(page\/base|all)\.js.*$/, "");
  const add = (name, tag, member) =>
    new Promise((resolve, reject) => {
      const element = document.createElement(tag);
      element[member] = `${base}vendor/${name}`;
      if (tag === "link") element.rel = "stylesheet";
      element.onload = resolve;
      element.onerror = () => reject(new Error(`${name} cannot be loaded; reload the page`));
      document.head.append(element);
    });
  return (name) => {
    if (!loading.has(name)) {
      loading.set(name, name.endsWith(".css") ? add(name, "link", "href") : add(name, "script", "src"));
    }
    return loading.get(name);
  };
})();
