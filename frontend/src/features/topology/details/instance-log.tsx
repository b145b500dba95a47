import { Checkbox } from '@mantine/core';
import type { InstanceLog as Told } from '@orrery/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../../shared/api/client.js';
import { useMay } from '../../../shared/api/session.js';
import { clockTextMs } from '../../../shared/format/time.js';
import { FormTrouble } from '../../../shared/ui/form-trouble.js';
import { LogTail } from '../../../shared/ui/log-tail.js';

/** Asked for at once; as many are kept. */
const MOST_LINES = 500;
const AGAIN_MS = 1000;

/** What the program of an instance wrote: its last lines, and what follows while it is open. */
export function InstanceLog({ id }: { readonly id: string }) {
  const mayOperate = useMay('operator');
  const [isOpen, setOpen] = useState(false);
  const [follows, setFollows] = useState(true);
  const queries = useQueryClient();
  const queryKey = ['instance-log', id];
  const { data, error } = useQuery({
    queryKey,
    enabled: mayOperate && isOpen,
    gcTime: 0,
    refetchInterval: follows ? AGAIN_MS : false,
    queryFn: async ({ signal }) => {
      const before = queries.getQueryData<Told>(queryKey);
      const after = before?.next ?? undefined;
      const told = await call('getNfInstanceLog', { params: { id }, query: { lines: MOST_LINES, after } }, { signal });
      return before && after !== undefined ? continued(before, told) : told;
    },
  });
  if (!mayOperate) return null;
  const note = data?.missed ? `Only the last ${MOST_LINES} lines are shown.` : null;
  return (
    <>
      <LogTail text={data ? textOf(data) : null} note={note} onOpen={setOpen} />
      {isOpen && (
        <Checkbox
          label="Follow the log"
          checked={follows}
          onChange={({ currentTarget: { checked } }) => setFollows(checked)}
        />
      )}
      <FormTrouble error={error} shown={[]} />
    </>
  );
}

/** Later lines after those that are there, of which the last ones are kept. */
export function continued(before: Told, later: Told): Told {
  const lines = [...(later.missed ? [] : before.lines), ...later.lines];
  return {
    lines: lines.slice(-MOST_LINES),
    next: later.next ?? before.next,
    missed: before.missed || later.missed || lines.length > MOST_LINES,
  };
}

function textOf({ lines }: Told): string {
  return lines.map(({ t_ms, text }) => (t_ms === null ? text : `${clockTextMs(t_ms)} ${text}`)).join('\n');
}
