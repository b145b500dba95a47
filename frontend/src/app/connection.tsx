import { Button, Popover, UnstyledButton } from '@mantine/core';
import { dateTimeText, durationText } from '../shared/format/time.js';
import { useNow } from '../shared/stream/clock.js';
import { useStreamStatus } from '../shared/stream/hooks.js';
import { reconnectNow } from '../shared/stream/stream.js';
import classes from './connection.module.css';

/** A cut shorter than this is not worth a banner. */
const BANNER_AFTER_MS = 2000;

function Age({ since_ms }: { readonly since_ms: number }) {
  const now = useNow();
  const s = Math.max(0, Math.floor((now - since_ms) / 1000));
  return <span className="tabular">{s < 60 ? `${s} s` : durationText(s * 1000)}</span>;
}

const WORDS = {
  idle: 'not connected',
  connecting: 'connecting',
  connected: 'live',
  reconnecting: 'reconnecting',
  refused: 'refused',
};

export function ConnectionState() {
  const status = useStreamStatus((all) => all);
  const { state, since_ms } = status;
  return (
    <Popover position="bottom-end" width={280} shadow="md">
      <Popover.Target>
        <UnstyledButton className={classes.state} data-state={state} aria-label={`Connection: ${WORDS[state]}`}>
          <span className={classes.dot} />
          <span className={classes.word}>{WORDS[state]}</span>
          {state === 'reconnecting' && <Age since_ms={since_ms} />}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <dl className={classes.facts}>
          <dt>Stream</dt>
          <dd>{WORDS[state]}</dd>
          <dt>Since</dt>
          <dd>{dateTimeText(since_ms)}</dd>
          <dt>Server</dt>
          <dd>{status.server_version ?? 'unknown'}</dd>
          <dt title="Values that were replaced by newer ones before this browser could take them">Coalesced</dt>
          <dd>{status.coalesced}</dd>
          <dt title="Events that arrived a second time and were ignored">Repeated events</dt>
          <dd>{status.duplicates}</dd>
        </dl>
        {status.detail && <p className={classes.detail}>{status.detail}</p>}
      </Popover.Dropdown>
    </Popover>
  );
}

/** Warns that the figures on the page are stale, and since when. */
export function ConnectionBanner() {
  const state = useStreamStatus((status) => status.state);
  const since_ms = useStreamStatus((status) => status.since_ms);
  const next = useStreamStatus((status) => status.next_attempt_ms);
  const now = useNow();
  const cut = state === 'reconnecting' && now - since_ms > BANNER_AFTER_MS;
  return (
    <div role="status">
      {cut && (
        <div className={classes.banner}>
          <span>
            The connection was lost <Age since_ms={since_ms} /> ago. You are looking at old data.{' '}
            {next !== null && next > now ? `Next attempt in ${Math.ceil((next - now) / 1000)} s.` : 'Trying now.'}
          </span>
          <Button variant="default" size="compact-xs" onClick={reconnectNow}>
            Try now
          </Button>
        </div>
      )}
    </div>
  );
}
