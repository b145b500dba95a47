import { IconAlertTriangle, IconCheck, IconCloudOff, IconLoader2, IconPencil, IconTrashX } from '@tabler/icons-react';
import { useStore } from 'zustand';
import { useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import type { SaveStatus } from '../../../shared/chain-draft/draft-saver.js';
import { useSaver } from '../../../shared/chain-draft/saver-context.js';
import classes from './save-state.module.css';

const LOOK: Record<SaveStatus['state'] | 'unapplied', { icon: typeof IconCheck; text: string; title: string }> = {
  saved: { icon: IconCheck, text: 'Saved', title: 'The draft is saved.' },
  waiting: { icon: IconPencil, text: 'Editing', title: 'Saving shortly.' },
  saving: { icon: IconLoader2, text: 'Saving', title: 'The draft is being saved.' },
  conflict: { icon: IconAlertTriangle, text: 'Conflict', title: 'Somebody else changed the draft.' },
  offline: { icon: IconCloudOff, text: 'Not saved, offline', title: 'Retrying until the server answers.' },
  deleted: { icon: IconTrashX, text: 'Deleted elsewhere', title: 'The chain no longer exists on the server.' },
  unapplied: {
    icon: IconAlertTriangle,
    text: 'Not applied',
    title: 'A text or a field has an error, so it changes nothing.',
  },
  refused: { icon: IconAlertTriangle, text: 'Not saved', title: 'The server refused the draft.' },
};

/** Whether the server has what the canvas shows. */
export function SaveState() {
  const saver = useSaver();
  const { readOnly } = useEditorContext();
  const saved = useStore(saver.status, (status) => status.state);
  const unapplied = useEditor((editor) => editor.unapplied !== null || editor.rejected.size > 0);
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
