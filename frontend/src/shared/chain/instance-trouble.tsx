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
      {ending && <Log id={id} known={ending.log} />}
    </div>
  );
}

/** Asks the agent for more of the log once it is opened, if the user may. */
function Log({ id, known }: { readonly id: string; readonly known: string | null }) {
  const mayOperate = useMay('operator');
  const [isOpen, setIsOpen] = useState(false);
  const { data } = useQuery({
    queryKey: ['instance-log', id],
    enabled: isOpen && mayOperate,
    retry: false,
    queryFn: async ({ signal }) => {
      const { state } = await call('getNfInstanceState', { params: { id }, query: { limit: 1 } }, { signal });
      return logOf(state);
    },
  });
  const text = data || known;
  if (!text && !mayOperate) return null;
  return <LogTail text={text} onOpen={setIsOpen} />;
}

/** The log in the state that an agent tells of a program; empty: it tells none. */
function logOf(state: unknown): string {
  const log = typeof state === 'object' && state !== null && 'log' in state ? state.log : '';
  return typeof log === 'string' ? log.trim() : '';
}
