import { Button } from '@mantine/core';
import type { BoardNode } from '@orrery/contract';
import { durationText } from '../../shared/format/time.js';
import { useNow } from '../../shared/stream/clock.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { Reason } from '../../shared/ui/reason.js';
import type { FaultActions } from './fault-actions.js';
import classes from './twin-lab.module.css';

interface BoardFaultsProps {
  readonly boards: readonly BoardNode[];
  readonly actions: FaultActions;
}

/** Faults of boards (power loss) and slots (hang), and how to clear them. */
export function BoardFaults({ boards, actions }: BoardFaultsProps) {
  const now = useNow();
  if (boards.length === 0) return null;
  const { faults } = actions;
  const { refusal } = actions;
  const mend = (id: string, what: string, since_ms: number) => (
    <Reason key={id} of={refusal}>
      <Button
        size="compact-xs"
        disabled={refusal !== null}
        loading={actions.busy === id}
        title={`For ${durationText(now - since_ms)}`}
        onClick={() => actions.clear(id)}
      >
        {what}
      </Button>
    </Reason>
  );
  return (
    <div className={classes.kills}>
      {boards.map(({ id, slots }) => {
        const dark = faults.find(({ kind, target }) => kind === 'board-kill' && target === id);
        return (
          <div key={id} className={classes.boardFaults}>
            <span>{id}</span>
            {dark ? (
              mend(dark.id, `Power on ${id}`, dark.since_ms)
            ) : (
              <Reason of={refusal}>
                <ConfirmButton
                  size="compact-xs"
                  disabled={refusal !== null}
                  aria-label={`Board power loss: ${id}`}
                  message={`${id} loses power. Its slots lose what they were loaded with; its NFs must run elsewhere until it is back.`}
                  confirmLabel="Power off"
                  onConfirm={() => actions.inject('board-kill', id)}
                >
                  Board power loss
                </ConfirmButton>
              </Reason>
            )}
            {[...Array(slots).keys()].map((slot) => {
              const stuck = faults.find(
                (fault) => fault.kind === 'slot-stuck' && fault.target === id && fault.slot === slot,
              );
              if (stuck) return mend(stuck.id, `Free slot ${slot}`, stuck.since_ms);
              const noSlot = refusal ?? (dark ? `${id} has no power` : null);
              return (
                <Reason key={slot} of={noSlot}>
                  <ConfirmButton
                    size="compact-xs"
                    disabled={noSlot !== null}
                    aria-label={`Slot ${slot} stuck: ${id}`}
                    message={`Slot ${slot} of ${id} accepts no frames and answers no register access, like a hung module.`}
                    confirmLabel="Hang the slot"
                    onConfirm={() => actions.inject('slot-stuck', id, slot)}
                  >
                    Slot {slot} stuck
                  </ConfirmButton>
                </Reason>
              );
            })}
          </div>
        );
      })}
    </div>
  );
}
