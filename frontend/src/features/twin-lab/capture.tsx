import { Button, NumberInput, Select, TextInput } from '@mantine/core';
import type { CaptureStatus, HostNode } from '@orrery/contract';
import { IconEye } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { call } from '../../shared/api/client.js';
import { useMay } from '../../shared/api/session.js';
import { type Entry, numberProblem } from '../../shared/format/number.js';
import { clockTextMs } from '../../shared/format/time.js';
import { FormTrouble, fieldErrorOf } from '../../shared/ui/form-trouble.js';
import { Panel } from '../../shared/ui/page-header.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './twin-lab.module.css';

const PACKETS = 200;
const SECONDS = { min: 1, max: 300, whole: true };

const endPoint = (address: string | null, port: number | null) =>
  address === null ? '–' : port === null ? address : `${address}:${port}`;

function Packets({ capture }: { readonly capture: CaptureStatus }) {
  const { packets, state, detail, request } = capture;
  return (
    <>
      <p className={classes.captured}>
        <StatusBadge state={state} /> {packets.length.toLocaleString()} packets at {request.host}
        {detail && <span className="muted"> {detail}</span>}
      </p>
      {packets.length === 0 ? (
        state === 'completed' && <EmptyState title="No packet matched" />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section className={classes.packets} tabIndex={0} aria-label="Captured packets">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">From</th>
                <th scope="col">To</th>
                <th scope="col">Protocol</th>
                <th scope="col" className="number">
                  Bytes
                </th>
              </tr>
            </thead>
            <tbody>
              {packets.map((packet, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: packets have no identity, and the list only grows
                <tr key={index}>
                  <td>{clockTextMs(packet.t_ms)}</td>
                  <td>{endPoint(packet.src, packet.src_port)}</td>
                  <td>{endPoint(packet.dst, packet.dst_port)}</td>
                  <td>{packet.protocol}</td>
                  <td className="number">{packet.length}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}

export function Capture({ hosts }: { readonly hosts: readonly HostNode[] }) {
  const [host, setHost] = useState<string | null>(null);
  const [filter, setFilter] = useState('');
  const [seconds, setSeconds] = useState<Entry>(10);
  const [id, setId] = useState<string | null>(null);
  const mayOperate = useMay('operator');
  const secondsProblem = numberProblem(SECONDS, seconds);
  const start = useMutation({
    mutationFn: () =>
      call('startCapture', {
        body: { host: host!, filter: filter.trim(), packets: PACKETS, duration_s: Number(seconds) },
      }),
    onSuccess: (capture) => setId(capture.id),
  });
  const capture = useQuery({
    queryKey: ['capture', id],
    enabled: id !== null,
    queryFn: ({ signal }) => call('getCapture', { params: { id: id! } }, { signal }),
    refetchInterval: ({ state }) =>
      state.data?.state === 'completed' || state.data?.state === 'failed' || state.error ? false : 500,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (host && !secondsProblem) start.mutate();
  };
  return (
    <Panel title="Look at packets">
      <form className={classes.form} onSubmit={submit} noValidate>
        <div className={classes.pair}>
          <Select
            label="At host"
            placeholder="Host"
            data={hosts.map(({ id: value, title }) => ({ value, label: title ?? value }))}
            value={host}
            onChange={setHost}
          />
          <NumberInput
            label="For"
            min={SECONDS.min}
            max={SECONDS.max}
            clampBehavior="none"
            suffix=" s"
            value={seconds}
            error={secondsProblem ?? fieldErrorOf(start.error, '/duration_s')}
            onChange={setSeconds}
          />
        </div>
        <TextInput
          label="Filter"
          placeholder="tcp port 80 and host 10.0.1.1"
          value={filter}
          error={fieldErrorOf(start.error, '/filter')}
          onChange={(event) => setFilter(event.currentTarget.value)}
        />
        <FormTrouble error={start.error ?? capture.error} shown={['/filter', '/duration_s']} />
        <Button
          type="submit"
          variant="default"
          leftSection={<IconEye size={14} />}
          loading={start.isPending}
          disabled={!mayOperate || !host}
        >
          Capture
        </Button>
      </form>
      {capture.data && <Packets capture={capture.data} />}
    </Panel>
  );
}
