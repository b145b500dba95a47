import { useEffect } from 'react';
import type { EditorActions } from './use-editor-actions.js';

/** Whether a clipboard key belongs to a field or selected text, not to the canvas. */
function elsewhere(event: ClipboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return (
    target?.closest?.('input, textarea, [contenteditable="true"], [role="dialog"]') != null ||
    (event.type !== 'paste' && (window.getSelection()?.toString() ?? '') !== '')
  );
}

/** Copy, cut and paste through the system's clipboard, as YAML that other chains, tabs and editors understand. */
export function useClipboard(actions: EditorActions): void {
  useEffect(() => {
    const onCopy = (event: ClipboardEvent) => {
      if (elsewhere(event)) return;
      const text = actions.copyText();
      if (!text) return;
      event.clipboardData?.setData('text/plain', text);
      event.preventDefault();
      if (event.type === 'cut') actions.removeSelected(false);
    };
    const onPaste = (event: ClipboardEvent) => {
      if (elsewhere(event)) return;
      event.preventDefault();
      actions.paste(event.clipboardData?.getData('text/plain') ?? '');
    };
    document.addEventListener('copy', onCopy);
    document.addEventListener('cut', onCopy);
    document.addEventListener('paste', onPaste);
    return () => {
      document.removeEventListener('copy', onCopy);
      document.removeEventListener('cut', onCopy);
      document.removeEventListener('paste', onPaste);
    };
  }, [actions]);
}
