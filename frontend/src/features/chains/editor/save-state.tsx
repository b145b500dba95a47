import { IconAlertTriangle, IconCheck, IconCloudOff, IconLoader2, IconPencil, IconTrashX } from '@tabler/icons-react';
import { useStore } from 'zustand';
import { useEditor, useEditorContext } from './context.js';
import type { SaveStatus } from './draft-saver.js';
import classes from './save-state.module.css';
import { useSaver } from './saver-context.js';

const LOOK: Record<SaveStatus['state'] | 'unapplied', { icon: typeof IconCheck; text: string; title: string }> = {
  saved: { icon: IconCheck, text: 'Saved', title: 'The server has this draft.' },
  waiting: { icon: IconPencil, text: 'Editing', title: 'Saved in a moment.' },
  saving: { icon: IconLoader2, text: 'Saving', title: 'The draft is on its way to the server.' },
  conflict: { icon: IconAlertTriangle, text: 'Conflict', title: 'Somebody else changed the draft.' },
  offline: { icon: IconCloudOff, text: 'Not saved, offline', title: 'Tried again until the server answers.' },
  deleted: { icon: IconTrashX, text: 'Deleted elsewhere', title: 'The server has this chain no longer.' },
  unapplied: {
    icon: IconAlertTriangle,
    text: 'Not applied',
    title: 'The text has an error, so that it changes nothing.',
  },
  refused: { icon: IconAlertTriangle, text: 'Not saved', title: 'The server refused the draft.' },
};

/** Whether the server has what the canvas shows. */
export function SaveState() {
  const saver = useSaver();
  const { readOnly } = useEditorContext();
  const saved = useStore(saver.status, (status) => status.state);
  const unapplied = useEditor((editor) => editor.unapplied !== null);
  if (readOnly) return <span className={classes.state}>Read only</span>;
  const state = unapplied && saved === 'saved' ? 'unapplied' : saved;
  const { icon: Icon, text, title } = LOOK[state];
  return (
    <span className={classes.state} data-state={state} data-testid="save-state" role="status" title={title}>
      <Icon size={14} aria-hidden />
      {text}
    </span>
  );
}
