import { Button, NumberInput, Select } from '@mantine/core';
import type { Plan, PlanOptions } from '@orrery/contract';
import { useEffect, useState } from 'react';
import { type Entry, numberProblem } from '../../shared/format/number.js';
import { DEFAULT_OPTIONS, DIMENSION_NAMES, DIMENSIONS, MODES } from '../../shared/plan/plan-choices.js';
import type { PlanAddress } from './address.js';
import { DeploymentFields } from './deployment-options.js';
import { areDefault } from './options.js';
import classes from './plan.module.css';

const SEED = { min: 0, max: 999_999_999, whole: true } as const;

interface OptionBarProps {
  readonly chainId: string;
  readonly plan: Plan | undefined;
  readonly address: PlanAddress;
}

/** Options of the plan; a change makes a new plan. */
export function OptionBar({ chainId, plan, address }: OptionBarProps) {
  const { options, setOptions, deployment, setDeployment } = address;
  const mode = MODES.find(({ value }) => value === options.scheduling_mode)!;
  return (
    <section className={classes.options} aria-label="Options of the plan">
      <div className={classes.optionFields}>
        <DeploymentFields chainId={chainId} plan={plan} asked={deployment} onChange={setDeployment} />
        {DIMENSION_NAMES.map((dimension) => {
          const { label, choices } = DIMENSIONS[dimension];
          return (
            <Select
              key={dimension}
              label={label}
              title={choices.find(({ value }) => value === options[dimension])?.note}
              value={options[dimension]}
              data={choices.map((choice) => ({ value: choice.value, label: choice.label }))}
              onChange={(value) => value && setOptions({ ...options, [dimension]: value } as PlanOptions)}
            />
          );
        })}
        <Select
          label="Scheduling mode"
          value={options.scheduling_mode}
          data={MODES.map(({ value, label }) => ({ value, label }))}
          onChange={(value) => value && setOptions({ ...options, scheduling_mode: value as typeof mode.value })}
        />
        <SeedEntry seed={options.seed} onChange={(seed) => setOptions({ ...options, seed })} />
        {!areDefault(options) && (
          <Button className={classes.reset} variant="subtle" onClick={() => setOptions(DEFAULT_OPTIONS)}>
            Reset
          </Button>
        )}
      </div>
      <p className={classes.modeNote}>
        {mode.label}: {mode.note}
      </p>
    </section>
  );
}

/** Applied on blur or Enter, so that no plan is made for a half-typed number. */
function SeedEntry({ seed, onChange }: { readonly seed: number; readonly onChange: (seed: number) => void }) {
  const [entry, setEntry] = useState<Entry>(seed);
  useEffect(() => setEntry(seed), [seed]);
  const commit = () => {
    if (typeof entry === 'number' && entry !== seed && !numberProblem(SEED, entry)) onChange(entry);
  };
  const problem = numberProblem(SEED, entry);
  return (
    <NumberInput
      label="Seed"
      title="Seed of random choices; the same seed gives the same plan."
      hideControls
      clampBehavior="none"
      value={entry}
      error={problem && `${problem}; the plan shown has seed ${seed}`}
      onChange={setEntry}
      onBlur={commit}
      onKeyDown={(event) => event.key === 'Enter' && commit()}
    />
  );
}
