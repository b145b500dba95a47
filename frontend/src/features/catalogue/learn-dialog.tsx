import { Button, Select, Text } from '@mantine/core';
import type { CataloguedNf, CostProfile, LearnRequest, MeasuredProfile } from '@orrery/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../shared/api/client.js';
import { driverText } from '../../shared/format/form.js';
import { countText } from '../../shared/format/number.js';
import { quantityText } from '../../shared/format/quantity.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { notifyDone } from '../../shared/ui/notify.js';
import classes from './catalogue.module.css';
import { rateOfOneCore } from './cost.js';

interface LearnDialogProps {
  readonly descriptor: CataloguedNf;
  readonly onClose: () => void;
}

type Driver = LearnRequest['driver'];

/** Shows what is measured of an NF beside what its descriptor says, and has plans reckon with it. */
export default function LearnDialog({ descriptor, onClose }: LearnDialogProps) {
  const { id, title, implementations } = descriptor;
  const queries = useQueryClient();
  const drivers = implementations.flatMap(({ driver }) => (driver === 'board' ? [] : [driver]));
  const [driver, setDriver] = useState<Driver>(drivers[0] ?? 'engine');
  const ask = (dry_run: boolean) => call('learnNfDescriptor', { params: { id }, body: { driver, dry_run } });
  const preview = useQuery({
    queryKey: ['nf-measured', id, driver],
    queryFn: () => ask(true),
    retry: false,
    staleTime: 0,
  });
  const learn = useMutation({
    mutationFn: () => ask(false),
    onSuccess: () => {
      notifyDone(`Plans reckon with the measured cost of ${title}.`);
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['nf-descriptors'] }),
  });
  const { measured, refusal } = preview.data ?? { measured: null, refusal: null };
  const mayLearn = measured !== null && refusal === null && !preview.isError;
  return (
    <FormDialog
      title={`Learn from measurements: ${title}`}
      size={560}
      onClose={onClose}
      onSubmit={() => mayLearn && learn.mutate()}
      trouble={<FormTrouble error={learn.error} shown={[]} />}
      action={
        <Button type="submit" disabled={!mayLearn} loading={learn.isPending}>
          Use what is measured
        </Button>
      }
    >
      <p className={classes.lead}>
        Plans size the NF by what its packets cost on running instances. Memory and base latency stay as declared.
      </p>
      {drivers.length > 1 && (
        <Select
          label="Runs as"
          data={drivers.map((value) => ({ value, label: driverText(value) }))}
          value={driver}
          allowDeselect={false}
          onChange={(chosen) => setDriver(chosen as Driver)}
        />
      )}
      <div aria-live="polite">
        {preview.isPending && <Text size="sm">Reading what is measured…</Text>}
        {preview.error && (
          <Text size="sm" c="red">
            {preview.error.message}
          </Text>
        )}
        {measured && <Compared measured={measured} />}
        {refusal && <Text size="sm">Not learnt: {refusal}</Text>}
      </div>
    </FormDialog>
  );
}

const ROWS: readonly (readonly [label: string, text: (cost: CostProfile) => string])[] = [
  ['Cycles per packet', ({ cycles_per_packet }) => countText(cycles_per_packet)],
  ['Cycles per byte', ({ cycles_per_byte }) => countText(cycles_per_byte)],
  ['Rate per core and GHz', (cost) => quantityText('pps', rateOfOneCore(cost))],
];

function Compared({ measured }: { readonly measured: MeasuredProfile }) {
  const { declared, cost, factor, spread, samples, packet_bytes, servers, origin } = measured;
  return (
    <>
      <table className={classes.compared}>
        <thead>
          <tr>
            <td />
            <th scope="col">Declared</th>
            <th scope="col">Measured</th>
          </tr>
        </thead>
        <tbody>
          {ROWS.map(([label, text]) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>{text(declared)}</td>
              <td>{text(cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Text size="sm">
        {factor.toFixed(2)} times the declared cycles, ± {quantityText('share', spread)}, from {countText(samples)}{' '}
        samples with packets of {Math.round(packet_bytes)} bytes at {servers.join(', ')}
        {origin === 'twin' ? ' (emulated: cycles are those of the machine that runs the twin)' : ''}.
      </Text>
    </>
  );
}
