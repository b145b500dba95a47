import { Button, NumberInput, Select, TextInput } from '@mantine/core';
import { CaptureRequest, type CaptureStatus, type HostNode } from '@orrery/contract';
import { IconEye, IconPlayerStop } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useStore } from 'zustand';
import { call } from '../../shared/api/client.js';
import { useNeeds } from '../../shared/api/session.js';
import { boundsOf, countText, type Entry, numberProblem } from '../../shared/format/number.js';
import { clockTextMs } from '../../shared/format/time.js';
import { Panel } from '../../shared/page/page-header.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { FormTrouble, fieldErrorOf } from '../../shared/ui/form-trouble.js';
import { notifyError } from '../../shared/ui/notify.js';
import { Reason } from '../../shared/ui/reason.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { captureEnd } from './capture-end.js';
import { lastCapture } from './last-capture.js';
import classes from './twin-lab.module.css';

const SECONDS = boundsOf(CaptureRequest.shape.duration_s.unwrap(), 's');
const PACKETS = boundsOf(CaptureRequest.shape.packets.unwrap(), 'packets');

const endPoint = (address: string | null, port: number | null) =>
  address === null ? '–' : port === null ? address : `${address}:${port}`;

/** A packet's only identity is its index; the list only grows. */
type CapturedPacket = CaptureStatus['packets'][number] & { readonly index: number };

const PACKET_COLUMNS: readonly Column<CapturedPacket>[] = [
  { id: 'time', title: 'Time', value: ({ t_ms }) => t_ms, cell: ({ t_ms }) => clockTextMs(t_ms) },
  { id: 'from', title: 'From', value: ({ src, src_port }) => endPoint(src, src_port) },
  { id: 'to', title: 'To', value: ({ dst, dst_port }) => endPoint(dst, dst_port) },
  { id: 'protocol', title: 'Protocol', value: ({ protocol }) => protocol },
  { id: 'bytes', title: 'Bytes', number: true, value: ({ length }) => length },
];

/** Ends a capture before its limits; what it has is kept. */
function StopCapture({ id }: { readonly id: string }) {
  const queries = useQueryClient();
  const needs = useNeeds('operator');
  const stop = useMutation({
    mutationFn: () => call('stopCapture', { params: { id } }),
    onSuccess: (stopped) => queries.setQueryData(['capture', id], stopped),
    onError: (error) => notifyError('The capture was not stopped', error),
  });
  return (
    <Reason of={needs}>
      <Button
        size="compact-xs"
        variant="default"
        leftSection={<IconPlayerStop size={12} />}
        loading={stop.isPending}
        disabled={needs !== null}
        onClick={() => stop.mutate()}
      >
        Stop capture
      </Button>
    </Reason>
  );
}

function Packets({ capture }: { readonly capture: CaptureStatus }) {
  const { packets, state, detail, request } = capture;
  const end = captureEnd(capture);
  return (
    <div>
      <p className={classes.captured}>
        <StatusBadge state={state} status={state === 'running' ? 'working' : undefined} /> {countText(packets.length)}{' '}
        packets at {request.host}
        {request.filter ? (
          <>
            , filter <code>{request.filter}</code>
          </>
        ) : (
          ', without a filter'
        )}
        {end && <span className="muted">, {end}</span>}
        {detail && <span className="muted"> {detail}</span>}
        {state === 'running' && <StopCapture id={capture.id} />}
      </p>
      {packets.length === 0 ? (
        state === 'completed' && <EmptyState title="No packet matched" />
      ) : (
        <DataTable
          label="Captured packets"
          className={classes.packets}
          columns={PACKET_COLUMNS}
          rows={packets.map((packet, index) => ({ ...packet, index }))}
          rowKey={({ index }) => String(index)}
        />
      )}
    </div>
  );
}

export function Capture({ hosts }: { readonly hosts: readonly HostNode[] }) {
  const [host, setHost] = useState<string | null>(null);
  const [filter, setFilter] = useState('');
  const [seconds, setSeconds] = useState<Entry>(10);
  const [most, setMost] = useState<Entry>(1000);
  const id = useStore(lastCapture, (last) => last.id);
  const needs = useNeeds('operator');
  const refusal = needs ?? (host ? null : 'Choose a host');
  const secondsProblem = numberProblem(SECONDS, seconds);
  const mostProblem = numberProblem(PACKETS, most);
  const start = useMutation({
    mutationFn: () =>
      call('startCapture', {
        body: { host: host!, filter: filter.trim(), packets: Number(most), duration_s: Number(seconds) },
      }),
    // What is shown below belongs to this capture or is not shown.
    onMutate: () => lastCapture.setState({ id: null }),
    onSuccess: (capture) => lastCapture.setState({ id: capture.id }),
  });
  const capture = useQuery({
    queryKey: ['capture', id],
    enabled: id !== null,
    queryFn: ({ signal }) => call('getCapture', { params: { id: id! } }, { signal }),
    refetchInterval: ({ state }) =>
      state.data?.state === 'completed' || state.data?.state === 'failed' || state.error ? false : 500,
  });
  const changed =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      if (start.isError) start.reset();
    };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (host && !secondsProblem && !mostProblem) start.mutate();
  };
  return (
    <Panel title="Capture packets">
      <form className={classes.form} onSubmit={submit} noValidate>
        <div className={classes.pair}>
          <Select
            label="At host"
            placeholder="Host"
            data={hosts.map(({ id: value, title }) => ({ value, label: title ?? value }))}
            value={host}
            onChange={changed(setHost)}
          />
          <NumberInput
            label="For"
            min={SECONDS.min}
            max={SECONDS.max}
            clampBehavior="none"
            suffix=" s"
            value={seconds}
            error={secondsProblem ?? fieldErrorOf(start.error, '/duration_s')}
            onChange={changed(setSeconds)}
          />
          <NumberInput
            label="At most"
            min={PACKETS.min}
            max={PACKETS.max}
            clampBehavior="none"
            suffix=" packets"
            thousandSeparator
            value={most}
            error={mostProblem ?? fieldErrorOf(start.error, '/packets')}
            onChange={changed(setMost)}
          />
        </div>
        <TextInput
          label="Filter"
          placeholder="tcp port 80 and host 10.0.1.1"
          value={filter}
          error={fieldErrorOf(start.error, '/filter')}
          onChange={(event) => changed(setFilter)(event.currentTarget.value)}
        />
        <FormTrouble error={start.error ?? capture.error} shown={['/filter', '/duration_s', '/packets']} />
        <Reason of={refusal}>
          <Button
            type="submit"
            variant="default"
            leftSection={<IconEye size={14} />}
            loading={start.isPending}
            disabled={refusal !== null}
          >
            Capture
          </Button>
        </Reason>
      </form>
      {capture.data && <Packets capture={capture.data} />}
    </Panel>
  );
}
