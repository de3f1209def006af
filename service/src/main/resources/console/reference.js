/** Shows the API in Swagger UI, which can also call it. */

import * as api from './api.js';
import {errorLine, h} from './dom.js';

const FOLDER = 'swagger-ui/';

/** The address of the service, with the path prefix that a proxy may add. */
const SERVICE = new URL('..', location.href).href.replace(/\/$/, '');

/** Replaces the default address in the description. */
const callThisService = () => ({
  statePlugins: {spec: {wrapActions: {updateJsonSpec: (update) => (spec) => update({...spec, servers: [{url: SERVICE}]})}}},
});

/**
 * Reads a style sheet for the shadow root, which keeps the styles of Swagger UI and of the console apart. The content
 * security policy allows no `data:` URLs.
 */
async function styles(file) {
  const text = await (await fetch(file)).text();
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text.replaceAll('html.dark-mode', ':host(.dark-mode)').replaceAll(/url\((?:data:[^)]*|"data:(?:\\.|[^"\\])*")\)/g, 'none'));
  return sheet;
}

const script = (src) =>
  new Promise((resolve, reject) => {
    document.head.append(h('script', {src, onload: resolve, onerror: () => reject(new api.Unreachable())}));
  });

export class ReferenceView {
  #note = h('div', {}, h('p', {class: 'muted'}, 'Reading the description of the API …'));
  #host = h('div', {class: 'reference'});
  #shadow = this.#host.attachShadow({mode: 'open'});
  #ui = null;

  constructor(section) {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const toggle = () => this.#host.classList.toggle('dark-mode', dark.matches);
    dark.addEventListener('change', toggle);
    toggle();
    section.append(h('div', {class: 'row'}, h('h2', {}, 'API'), h('a', {href: '../openapi.yaml'}, 'openapi.yaml')), this.#note, this.#host);
  }

  /** Opens Swagger UI at first; later calls only pass on the key that was given in the meantime. */
  async shown() {
    try {
      this.#ui ??= this.#open();
      const ui = await this.#ui;
      if (api.currentKey()) ui.preauthorizeApiKey('bearer', api.currentKey());
    } catch (failure) {
      this.#ui = null;
      this.#note.replaceChildren(errorLine(failure));
    }
  }

  async #open() {
    window.noZensmooth = true; // a library of Swagger UI would intercept clicks on the links of the console
    const [description, ...sheets] = await Promise.all([
      api.description(),
      styles(`${FOLDER}swagger-ui.css`),
      styles('reference.css'),
      window.SwaggerUIBundle ?? script(`${FOLDER}swagger-ui-bundle.js`),
    ]);
    const root = h('div');
    this.#shadow.adoptedStyleSheets = sheets.slice(0, 2);
    this.#shadow.replaceChildren(root);
    const ui = window.SwaggerUIBundle({
      domNode: root,
      docExpansion: 'none',
      defaultModelsExpandDepth: 0,
      validatorUrl: null, // by default a foreign service
      plugins: [callThisService],
    });
    ui.specActions.updateSpec(description);
    this.#note.replaceChildren();
    return ui;
  }
}
