import { useState } from 'react';
import { useOutOfService } from '../api/queries.js';
import { useMay } from '../api/session.js';
import { LastKnown } from '../ui/last-known.js';
import { StatusBadge } from '../ui/status-badge.js';
import { DrainDialog } from './drain-dialog.js';
import { ServiceActions, ServiceMark, unusedText } from './service.js';
import classes from './service.module.css';

interface PartServiceProps {
  readonly id: string;
  /** Of a board: its name, and the server that drives it, without which plans do not use it either. */
  readonly board?: { readonly title: string; readonly server: string };
}

/** Whether plans use a server or board, and how to take it out of service and back. */
export function PartService({ id, board }: PartServiceProps) {
  const { data, error } = useOutOfService();
  const may = useMay('operator');
  const [isDrained, setDrained] = useState(false);
  if (error && !data) return <span className="muted">service is not known</span>;
  if (!data) return null;
  const part = data.find((each) => each.id === id);
  const unused = board && !part ? unusedText({ id, ...board }, data) : null;
  return (
    <span className={classes.service}>
      <LastKnown>
        {unused ? <StatusBadge state="unused" status="degraded" label={unused} /> : <ServiceMark part={part} />}
      </LastKnown>
      {part?.maintenance && <span className="muted">{part.maintenance.reason}</span>}
      {may && <ServiceActions id={id} part={part} may={may} onDrain={() => setDrained(true)} />}
      {isDrained && <DrainDialog node={id} onClose={() => setDrained(false)} />}
    </span>
  );
}
