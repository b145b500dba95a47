import { useState } from 'react';
import { useOutOfService } from '../api/queries.js';
import { useMay } from '../api/session.js';
import { LastKnown } from '../ui/last-known.js';
import { DrainDialog } from './drain-dialog.js';
import { ServiceActions, ServiceMark } from './service.js';
import classes from './service.module.css';

/** Whether plans use a server or board, and how to take it out of service and back. */
export function PartService({ id }: { readonly id: string }) {
  const { data, error } = useOutOfService();
  const may = useMay('operator');
  const [isDrained, setDrained] = useState(false);
  if (error && !data) return <span className="muted">service is not known</span>;
  if (!data) return null;
  const part = data.find((each) => each.id === id);
  return (
    <span className={classes.service}>
      <LastKnown>
        <ServiceMark part={part} />
      </LastKnown>
      {part?.maintenance && <span className="muted">{part.maintenance.reason}</span>}
      {may && <ServiceActions id={id} part={part} may={may} onDrain={() => setDrained(true)} />}
      {isDrained && <DrainDialog node={id} onClose={() => setDrained(false)} />}
    </span>
  );
}
