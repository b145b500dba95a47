import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { useStore } from 'zustand';
import { type Overlap, overlapText } from '../../editor-model/merge.js';
import { fieldText } from '../../editor-model/pointer.js';
import { titleOf } from '../form/field-model.js';
import { notifyDone, notifyError } from '../ui/notify.js';
import classes from './conflict-notice.module.css';
import { DeletedNotice } from './deleted-notice.js';
import { useSaver } from './saver-context.js';

/** Shows the result of the merge; stays until closed if changes were discarded. */
function sayMerged(overlaps: readonly Overlap[]): void {
  if (overlaps.length === 0) {
    notifyDone('Merged. Nothing was changed by both of you.');
    return;
  }
  notifications.show({
    title: 'Merged. Where both of you changed the same, yours was kept',
    color: 'yellow',
    autoClose: false,
    message: (
      <ul className={classes.overlaps}>
        {overlaps.map((overlap) => (
          <li key={overlap.pointer}>{overlapText(overlap)}</li>
        ))}
      </ul>
    ),
  });
}

/** Reports a draft that the server rejected, above the canvas, which stays usable. */
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
        <Button disabled={busy} onClick={() => void attempt(saver.merge().then(sayMerged))}>
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
          <ul className={classes.overlaps}>
            {status.error?.errors
              .filter(({ detail }) => detail !== status.error?.message)
              .map(({ pointer, detail }) => (
                <li key={`${pointer}${detail}`}>
                  {titleOf(fieldText(pointer))}: {detail}
                </li>
              ))}
          </ul>
        </div>
      </div>
    );
  }
  return null;
}
