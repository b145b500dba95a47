import type { NfInstance } from '@orrery/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client.js';
import { useMay } from '../api/session.js';
import { endingOf } from '../format/ending.js';
import { LogTail } from '../ui/log-tail.js';
import classes from './instance-trouble.module.css';

type Told = Pick<NfInstance, 'id' | 'state' | 'detail'>;

/** What an agent tells of an NF that does not run well: of one that ended why, with the last lines of its log. Nothing of others. */
export function InstanceTrouble({ instance: { id, state, detail } }: { readonly instance: Told }) {
  if (!detail) return null;
  const ending = endingOf(detail);
  return (
    <div className={classes.trouble} data-failed={state === 'failed' || undefined}>
      <p>{ending?.text ?? detail}</p>
      {ending && <Log id={id} told={detail} known={ending.log} />}
    </div>
  );
}

interface LogProps {
  readonly id: string;
  /** What tells of this end: after another one, its log is asked for anew. */
  readonly told: string;
  readonly known: string | null;
}

/** Asks the agent for more of the log once it is opened, if the user may. */
function Log({ id, told, known }: LogProps) {
  const mayOperate = useMay('operator');
  const [isOpen, setIsOpen] = useState(false);
  const { data, error, isPending } = useQuery({
    queryKey: ['instance-log', id, told],
    enabled: isOpen && mayOperate,
    retry: false,
    // A later end may be told in the same words.
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const { state } = await call('getNfInstanceState', { params: { id }, query: { limit: 1 } }, { signal });
      return logOf(state);
    },
  });
  const text = data || known;
  if (!text && !mayOperate) return null;
  const more = text ? 'More of it' : 'It';
  const note = !mayOperate
    ? null
    : error
      ? `${more} could not be read: ${error.message}`
      : isPending
        ? `${more} is being read…`
        : null;
  return <LogTail text={text} note={note} onOpen={setIsOpen} />;
}

/** The log in the state that an agent tells of a program; empty: it tells none. */
function logOf(state: unknown): string {
  const log = typeof state === 'object' && state !== null && 'log' in state ? state.log : '';
  return typeof log === 'string' ? log.trim() : '';
}
