import { Button } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { useStore } from 'zustand';
import { notifyError } from '../../../shared/ui/notify.js';
import { FieldErrors } from '../../../shared/ui/states.js';
import classes from './conflict-notice.module.css';
import { DeletedNotice } from './deleted-notice.js';
import { useSaver } from './saver-context.js';
import { refuse } from './use-editor-actions.js';

function sayOverlaps(pointers: readonly string[]): void {
  if (pointers.length > 0) refuse(`Both of you changed ${pointers.join(', ')}: yours was kept there.`);
}

/** Tells of a draft that the server did not take, above the canvas, which stays usable. */
export function ConflictNotice() {
  const saver = useSaver();
  const status = useStore(saver.status);
  const [busy, setBusy] = useState(false);
  const attempt = async (work: Promise<void>) => {
    setBusy(true);
    await work.catch((error: unknown) => notifyError('That did not work', error));
    setBusy(false);
  };
  if (status.state === 'conflict') {
    return (
      <div className={classes.notice} role="alert">
        <IconAlertTriangle size={16} aria-hidden />
        <span>
          Somebody else changed this chain while you did. Your changes are kept here and are not saved yet. Whatever you
          choose can be undone.
        </span>
        <Button disabled={busy} onClick={() => void attempt(saver.merge().then(sayOverlaps))}>
          Merge both
        </Button>
        <Button variant="default" disabled={busy} onClick={() => void attempt(saver.reload())}>
          Load theirs
        </Button>
        <Button variant="default" disabled={busy} onClick={() => void attempt(saver.overwrite())}>
          Keep mine
        </Button>
      </div>
    );
  }
  if (status.state === 'deleted') return <DeletedNotice />;
  if (status.state === 'refused') {
    return (
      <div className={classes.notice} role="alert">
        <IconAlertTriangle size={16} aria-hidden />
        <div>
          Not saved: {status.error?.message}
          <FieldErrors error={status.error} />
        </div>
      </div>
    );
  }
  return null;
}
