import {
  IconAlertTriangleFilled,
  IconCircleCheckFilled,
  IconCircleDashed,
  IconCircleXFilled,
  IconClockPause,
  IconInfoCircle,
  IconLoader2,
} from '@tabler/icons-react';
import { useCut } from '../stream/hooks.js';
import classes from './status-badge.module.css';

export type Status = 'healthy' | 'degraded' | 'failed' | 'stale' | 'working' | 'info' | 'idle';

/** Both shape and colour indicate the state. */
const ICONS = {
  healthy: IconCircleCheckFilled,
  degraded: IconAlertTriangleFilled,
  failed: IconCircleXFilled,
  stale: IconClockPause,
  working: IconLoader2,
  info: IconInfoCircle,
  idle: IconCircleDashed,
};

/** How the states of all resources look. */
const STATUS_OF: Record<string, Status> = {
  ok: 'healthy',
  running: 'healthy',
  connected: 'healthy',
  up: 'healthy',
  met: 'healthy',
  done: 'healthy',
  COMPLETED: 'healthy',
  completed: 'healthy',
  operating: 'healthy',
  active: 'healthy',
  info: 'info',
  unresponsive: 'degraded',
  degraded: 'degraded',
  warning: 'degraded',
  PARTIALLY_COMPLETED: 'degraded',
  FAILED_TEMP: 'degraded',
  failed: 'failed',
  FAILED: 'failed',
  ROLLED_BACK: 'degraded',
  undone: 'degraded',
  violated: 'failed',
  error: 'failed',
  disconnected: 'failed',
  down: 'failed',
  faulty: 'failed',
  absent: 'failed',
  refused: 'degraded',
  'rolled-back': 'degraded',
  stale: 'stale',
  unknown: 'stale',
  PROCESSING: 'working',
  ROLLING_BACK: 'working',
  deploying: 'working',
  undeploying: 'working',
  starting: 'working',
  'warming-up': 'working',
  stopping: 'working',
  building: 'working',
  quiescing: 'working',
  loading: 'working',
  configuring: 'working',
  'tearing-down': 'working',
};

/** States that are over: they are as true while the browser is cut off. */
const FINAL: ReadonlySet<string> = new Set([
  'COMPLETED',
  'PARTIALLY_COMPLETED',
  'FAILED',
  'ROLLED_BACK',
  'completed',
  'done',
  'undone',
  'skipped',
  'rolled-back',
  'info',
  'warning',
  'error',
]);

export function statusOf(state: string): Status {
  return STATUS_OF[state] ?? 'idle';
}

const WORDS: Record<string, string> = {
  PROCESSING: 'processing',
  COMPLETED: 'completed',
  PARTIALLY_COMPLETED: 'partially completed',
  FAILED_TEMP: 'failed, can be retried',
  FAILED: 'failed',
  ROLLING_BACK: 'rolling back',
  ROLLED_BACK: 'rolled back',
};

interface StatusBadgeProps {
  /** A resource's state as in the API, or a custom status. */
  readonly state: string;
  readonly status?: Status;
  readonly label?: string;
  /** Icon alone; the label is still there for a screen reader. */
  readonly compact?: boolean;
  /** A result that was computed or recorded, not a state of the present: it does not become stale. */
  readonly lasting?: boolean;
}

/** A state as icon, colour and word. While the browser is cut off from the server, a state of the present is grey and *stale*. */
export function StatusBadge(props: StatusBadgeProps) {
  const { state, status = statusOf(state), label, compact = false, lasting = FINAL.has(state) } = props;
  const isStale = useCut() && !lasting && status !== 'stale';
  const shown = isStale ? 'stale' : status;
  const Icon = ICONS[shown];
  const text = label ?? WORDS[state] ?? state.replaceAll('-', ' ');
  return (
    <span
      className={classes.badge}
      data-status={shown}
      data-compact={compact || undefined}
      data-lasting={lasting || undefined}
      data-stale={isStale || undefined}
      title={isStale ? 'The last known state: the connection to the server is lost' : undefined}
    >
      <Icon size={14} aria-hidden />
      <span className={compact ? 'sr-only' : undefined}>
        {text}
        {isStale && ', stale'}
      </span>
    </span>
  );
}
