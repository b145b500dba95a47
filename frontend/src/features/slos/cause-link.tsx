import type { SloAlert, SloCause } from '@orrery/contract';
import { Link } from 'react-router';
import { chainPath } from '../../shared/api/chains.js';
import { useSubjectPath } from '../../shared/api/subject-path.js';

const WORDS: Readonly<Record<SloCause['kind'], string>> = {
  operation: 'Operation',
  reconfiguration: 'Reconfiguration',
  fault: 'Fault',
  failure: 'Failure',
  overload: 'Overload',
};

/** The cause of an alert as a sentence, with a link to what it names. */
export function CauseLink({ alert: { cause, chain_id } }: { readonly alert: SloAlert }) {
  const pathOf = useSubjectPath();
  if (!cause) return <span className="muted">No cause found.</span>;
  const id = encodeURIComponent(cause.id);
  const event = cause.event_id === null ? null : `/events?event=${encodeURIComponent(cause.event_id)}`;
  const paths: Readonly<Record<SloCause['kind'], string | null>> = {
    operation: `/operations?op=${id}`,
    reconfiguration: `/accelerators?reconfiguration=${id}`,
    // It may have been cleared: its event is still there.
    fault: event,
    failure: pathOf(cause.id) ?? event,
    overload: chainPath(chain_id),
  };
  const path = paths[cause.kind];
  const text = `${cause.what.replace(/\.$/, '')}.`;
  return (
    <>
      {WORDS[cause.kind]}: {path === null ? text : <Link to={path}>{text}</Link>}
    </>
  );
}
