import { cleanup, configure } from '@testing-library/react';
import { afterEach } from 'vitest';

// `findBy` and `waitFor` return at once when met; beside other stages a step can take tens of seconds.
configure({ asyncUtilTimeout: 60_000 });
afterEach(cleanup);

window.matchMedia ??= (query: string) =>
  ({
    matches: false,
    media: query,
    onchange: null,
    addEventListener: () => {},
    removeEventListener: () => {},
    addListener: () => {},
    removeListener: () => {},
    dispatchEvent: () => false,
  }) as MediaQueryList;
window.ResizeObserver ??= class {
  observe() {}
  unobserve() {}
  disconnect() {}
};
// jsdom lays nothing out, so that nothing can be scrolled to, and no text is anywhere.
Element.prototype.scrollIntoView = () => {};
Range.prototype.getClientRects = () => [] as unknown as DOMRectList;
// A text area that grows with its content measures again when a font arrives.
Object.defineProperty(document, 'fonts', { value: new EventTarget() });
