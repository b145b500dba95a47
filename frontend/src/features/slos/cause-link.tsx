import type { SloAlert, SloCause } from '@orrery/contract';
import { Link } from 'react-router';
import { chainPath } from '../../shared/api/chains.js';
import { useSubjectPath } from '../../shared/api/subject-path.js';

const WORDS: Readonly<Record<SloCause['kind'], string>> = {
  operation: 'Operation',
  reconfiguration: 'Reconfiguration',
  scaling: 'Scaling',
  fault: 'Fault',
  failure: 'Failure',
  overload: 'Overload',
};

/** The cause of an alert as a sentence, with a link to what it names. */
export function CauseLink({ alert: { cause, chain_id } }: { readonly alert: SloAlert }) {
  return cause ? <ChangeLink change={cause} chainId={chain_id} /> : <span className="muted">No cause found.</span>;
}

/** A change of a chain as a sentence, with a link to what it names. */
export function ChangeLink({ change, chainId }: { readonly change: SloCause; readonly chainId: string }) {
  const pathOf = useSubjectPath();
  const id = encodeURIComponent(change.id);
  const event = change.event_id === null ? null : `/events?event=${encodeURIComponent(change.event_id)}`;
  const paths: Readonly<Record<SloCause['kind'], string | null>> = {
    operation: `/operations?op=${id}`,
    reconfiguration: `/accelerators?reconfiguration=${id}`,
    scaling: event,
    // It may have been cleared: its event is still there.
    fault: event,
    failure: pathOf(change.id) ?? event,
    overload: chainPath(chainId),
  };
  const path = paths[change.kind];
  const text = `${change.what.replace(/\.$/, '')}.`;
  return (
    <>
      {WORDS[change.kind]}: {path === null ? text : <Link to={path}>{text}</Link>}
    </>
  );
}
