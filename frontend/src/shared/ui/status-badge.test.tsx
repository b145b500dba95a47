import { act, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import { live, streamStore } from '../stream/stream.js';
import type { StreamState } from '../stream/stream-client.js';
import { LastKnown } from './last-known.js';
import { LiveRate, MeasuredText } from './rate-text.js';
import { StatusBadge } from './status-badge.js';

const connection = (state: StreamState) => act(() => streamStore.setState({ state }));
afterEach(() => connection('idle'));

const badge = (text: string) => screen.getByText(text).closest('[data-status]')?.getAttribute('data-status');

describe('while the browser is cut off', () => {
  it.each<StreamState>(['reconnecting', 'refused'])('a state of the present is grey and stale (%s)', (state) => {
    render(
      <>
        <StatusBadge state="met" />
        <StatusBadge state="ok" />
        <StatusBadge state="violated" label="2 violated" />
        <StatusBadge state="stale" />
      </>,
    );
    connection('connected');
    expect(badge('met')).toBe('healthy');
    expect(badge('ok')).toBe('healthy');
    connection(state);
    for (const text of ['met, stale', 'ok, stale', '2 violated, stale', 'stale']) expect(badge(text)).toBe('stale');
    connection('connected');
    expect(badge('met')).toBe('healthy');
    expect(badge('2 violated')).toBe('failed');
  });

  it('what is over, and what was computed, is as true as before', () => {
    connection('reconnecting');
    render(
      <>
        <StatusBadge state="COMPLETED" />
        <StatusBadge state="warning" />
        <StatusBadge state="met" label="will be met" lasting />
      </>,
    );
    expect(badge('completed')).toBe('healthy');
    expect(badge('warning')).toBe('degraded');
    expect(badge('will be met')).toBe('healthy');
  });

  it('figures and counts are stale at once', () => {
    live.addSamples([{ key: 'chain/a/pps', t_ms: 1, value: 5, origin: 'twin' }]);
    const { container } = render(
      <>
        <LiveRate sampleKey="chain/a/pps" quantity="pps" />
        <MeasuredText quantity="us" value={3} />
        <LastKnown>2 of 2 running</LastKnown>
      </>,
    );
    connection('connected');
    expect(container.querySelectorAll('[data-stale]')).toHaveLength(0);
    expect(screen.getByText('2 of 2 running')).toBeTruthy();
    connection('reconnecting');
    expect(container.querySelectorAll('[data-stale]')).toHaveLength(2);
    expect(screen.getByText('2 of 2 running, stale')).toBeTruthy();
  });

  it('nothing is called stale before the first connection', () => {
    connection('connecting');
    render(<StatusBadge state="running" />);
    expect(badge('running')).toBe('healthy');
  });
});
