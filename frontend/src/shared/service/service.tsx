import { Button } from '@mantine/core';
import type { ListedPart, OutOfService } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { call } from '../api/client.js';
import { ConfirmButton } from '../ui/confirm-button.js';
import { notifyDone, notifyError } from '../ui/notify.js';
import { Reason } from '../ui/reason.js';
import { StatusBadge } from '../ui/status-badge.js';

const DoWithoutDialog = lazy(() => import('./do-without-dialog.js'));

/** In a word whether plans use a server or board. */
export function serviceOf(part: OutOfService | undefined): string {
  if (!part) return 'in service';
  if (part.lost) return 'lost';
  return part.maintenance ? 'maintenance' : 'back';
}

interface Board {
  readonly id: string;
  readonly title: string;
  /** The one that drives it. */
  readonly server: string;
}

/** Why plans do not use a board: itself, or its server, is lost or in maintenance; null: they use it. */
export function unusedText({ id, title, server }: Board, parts: readonly OutOfService[] = []): string | null {
  const told = [
    { name: title, part: parts.find((each) => each.id === id) },
    { name: server, part: parts.find((each) => each.id === server) },
  ].find(({ part }) => part?.lost || part?.maintenance);
  return told ? `${told.name} is ${told.part!.lost ? 'lost' : 'in maintenance'}` : null;
}

export function ServiceMark({ part }: { readonly part: OutOfService | undefined }) {
  const word = serviceOf(part);
  if (!part) return <span className="muted">{word}</span>;
  return (
    <StatusBadge state={word} status={part.lost ? 'failed' : part.maintenance ? 'degraded' : 'info'} label={word} />
  );
}

interface ServiceActionsProps {
  /** A server or board. */
  readonly id: string;
  readonly part: ListedPart | undefined;
  /** Whether the user may drain parts. */
  readonly may: boolean;
  readonly onDrain: (id: string) => void;
}

/** Takes a server or board out of service and brings it back; a button that is disabled says why. */
export function ServiceActions({ id, part, may, onDrain }: ServiceActionsProps) {
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: (returns: boolean) => call('endMaintenance', { params: { id }, body: { return: returns } }),
    onSuccess: ({ part: after, operation_id }) => {
      const refused = operation_id === null ? after?.return_refused : null;
      notifyDone(`${id} is back in service.${refused ? ` What left it could not return: ${refused}` : ''}`);
    },
    onError: (error) => notifyError(`${id} is not back in service`, error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['out-of-service'] }),
  });
  const isLost = part !== undefined && part.lost !== null && part.maintenance === null;
  const reason = may ? null : 'Needs the role operator';
  if (isLost) return <LostActions part={part} reason={reason} />;
  if (!part)
    return (
      <Reason of={reason}>
        <Button
          variant="default"
          size="compact-xs"
          aria-label={`Drain ${id}`}
          disabled={reason !== null}
          onClick={() => onDrain(id)}
        >
          Drain…
        </Button>
      </Reason>
    );
  return (
    <>
      <Reason of={reason}>
        <Button
          variant="default"
          size="compact-xs"
          aria-label={`${id} back in service`}
          disabled={reason !== null}
          loading={end.isPending}
          onClick={() => end.mutate(false)}
        >
          Back in service
        </Button>
      </Reason>
      {part.left.length > 0 && (
        <Reason of={reason}>
          <ConfirmButton
            size="compact-xs"
            aria-label={`Return… what left ${id}`}
            disabled={reason !== null}
            message={`${part.return_refused ? `Last time it was not possible: ${part.return_refused} ` : ''}${part.left.length} ${part.left.length === 1 ? 'instance' : 'instances'} that left ${id} and still run elsewhere move back, where there is room.`}
            confirmLabel="Return"
            onConfirm={() => end.mutate(true)}
          >
            Return…
          </ConfirmButton>
        </Reason>
      )}
    </>
  );
}

/** What still is to run on a lost server is brought elsewhere where healing does not do it. */
function LostActions({ part, reason }: { readonly part: ListedPart; readonly reason: string | null }) {
  const [isAsked, setAsked] = useState(false);
  const { id, in_use } = part;
  // Until its plan is in force: the dialog tells how that goes on.
  if (!isAsked && !in_use) return <span className="muted">nothing is to run there</span>;
  return (
    <>
      <Reason of={reason}>
        <Button
          variant="default"
          size="compact-xs"
          aria-label={`Do without ${id}`}
          disabled={reason !== null}
          onClick={() => setAsked(true)}
        >
          Do without it…
        </Button>
      </Reason>
      <Suspense fallback={null}>{isAsked && <DoWithoutDialog node={id} onClose={() => setAsked(false)} />}</Suspense>
    </>
  );
}
