import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';

const SCROLLBACK_LINES = 2000;

export interface ScreenHandlers {
  typed(text: string): void;
  resized(size: { columns: number; rows: number }): void;
  /** Shift+Escape: every other key is the shell's, also Tab and Escape. */
  leave(): void;
}

const token = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const theme = () => ({
  background: token('--o-surface-sunken'),
  foreground: token('--o-text'),
  cursor: token('--o-accent'),
  cursorAccent: token('--o-surface-sunken'),
  selectionBackground: token('--o-border-strong') || token('--o-border'),
});

/** The terminal on the page, as large as its element and in the colours of the theme. */
export class TerminalScreen {
  private readonly terminal: Terminal;
  private readonly fit = new FitAddon();
  private readonly sizes: ResizeObserver;
  private readonly schemes: MutationObserver;

  constructor(element: HTMLElement, label: string, isForReaders: boolean, handlers: ScreenHandlers) {
    this.terminal = new Terminal({
      cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
      fontFamily: token('--o-mono') || 'monospace',
      fontSize: 13,
      // Colours of programs stay readable on light and dark (WCAG 1.4.3).
      minimumContrastRatio: 4.5,
      screenReaderMode: isForReaders,
      scrollback: SCROLLBACK_LINES,
      theme: theme(),
    });
    this.terminal.loadAddon(this.fit);
    this.terminal.open(element);
    this.terminal.textarea?.setAttribute('aria-label', label);
    this.terminal.attachCustomKeyEventHandler((event) => {
      const leaves = event.key === 'Escape' && event.shiftKey;
      if (!leaves) return true;
      // It is not for the page around, which would close what the shell belongs to.
      event.stopPropagation();
      if (event.type === 'keydown') handlers.leave();
      return false;
    });
    this.terminal.onData((text) => handlers.typed(text));
    this.terminal.onResize(({ cols: columns, rows }) => handlers.resized({ columns, rows }));
    this.sizes = new ResizeObserver(() => this.fit.fit());
    this.sizes.observe(element);
    this.schemes = new MutationObserver(() => {
      this.terminal.options.theme = theme();
    });
    this.schemes.observe(document.documentElement, { attributeFilter: ['data-mantine-color-scheme'] });
    this.fit.fit();
  }

  get size(): { columns: number; rows: number } {
    return { columns: this.terminal.cols, rows: this.terminal.rows };
  }

  set forReaders(isForReaders: boolean) {
    this.terminal.options.screenReaderMode = isForReaders;
  }

  write(bytes: Uint8Array, shown: () => void): void {
    this.terminal.write(bytes, shown);
  }

  focus(): void {
    this.terminal.focus();
  }

  /** Nothing is typed any more; what was shown stays. */
  end(): void {
    this.terminal.options.disableStdin = true;
    this.terminal.options.cursorBlink = false;
  }

  dispose(): void {
    this.sizes.disconnect();
    this.schemes.disconnect();
    this.terminal.dispose();
  }
}
