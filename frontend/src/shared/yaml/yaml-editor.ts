import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, foldGutter, indentOnInput } from '@codemirror/language';
import { type Diagnostic, lintGutter } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { YAML_LOOK } from './yaml-look.js';

const APPLY_AFTER_MS = 300;
const TYPING = ['input', 'delete', 'undo', 'redo', 'move'] as const;

interface YamlEditorOptions {
  readonly parent: HTMLElement;
  /** Read to screen readers. */
  readonly label: string;
  readonly text: string;
  readonly readOnly: boolean;
  /** Called with the whole text a moment after the user has changed it, or when the editor loses the focus. */
  readonly onTyped: (text: string) => void;
}

interface YamlEditor {
  readonly view: EditorView;
  readonly destroy: () => void;
}

/** A text editor for YAML with line numbers; call `destroy` to remove it. What was typed last and not passed on is lost then. */
export function makeYamlEditor({ parent, label, text, readOnly, onTyped }: YamlEditorOptions): YamlEditor {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const passOn = () => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    onTyped(view.state.doc.toString());
  };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        foldGutter(),
        lintGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        yaml(),
        YAML_LOOK,
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorState.readOnly.of(readOnly),
        EditorView.contentAttributes.of({
          'aria-label': `${label}. Press Escape, then Tab to leave.`,
          tabindex: '0',
          // Escape is for leaving the text; a dialog around it would close and lose what was typed.
          'data-mantine-stop-propagation': 'true',
        }),
        EditorView.updateListener.of(({ docChanged, transactions }) => {
          const typed = transactions.some((each) => TYPING.some((kind) => each.isUserEvent(kind)));
          if (!docChanged || !typed) return;
          clearTimeout(timer);
          timer = setTimeout(passOn, APPLY_AFTER_MS);
        }),
        // The next action, such as Deploy, uses the current text.
        EditorView.domEventHandlers({ blur: passOn }),
      ],
    }),
  });
  return {
    view,
    destroy: () => {
      clearTimeout(timer);
      timer = undefined;
      view.destroy();
    },
  };
}

/** Marks a line from a column to its end. */
export function diagnosticAt(
  { doc }: EditorState,
  place: { readonly line: number; readonly column: number },
  severity: 'error' | 'warning',
  message: string,
): Diagnostic {
  const line = doc.line(Math.min(Math.max(1, place.line), doc.lines));
  const from = Math.min(line.to, line.from + place.column - 1);
  return { from, to: Math.max(from, line.to), severity, message };
}
