import { Select } from '@mantine/core';
import type { DeploymentOptions, Plan } from '@orrery/contract';
import { useNodes } from '../../shared/api/queries.js';
import {
  DEPLOYMENT,
  DEPLOYMENT_NAMES,
  type DeploymentDimension,
  obstacleTo,
} from '../../shared/plan/deployment-choices.js';
import classes from './plan.module.css';

interface DeploymentOptionsProps {
  readonly chainId: string;
  readonly plan: Plan | undefined;
  readonly asked: DeploymentOptions;
  readonly onChange: (options: DeploymentOptions) => void;
}

/** How the chain runs once it is deployed. Options that no engine supports are disabled, with the reason. */
export function DeploymentFields({ chainId, plan, asked, onChange }: DeploymentOptionsProps) {
  const { data: nodes } = useNodes();
  const planned = plan?.chains.find(({ chain_id }) => chain_id === chainId);
  return DEPLOYMENT_NAMES.map((name: DeploymentDimension) => {
    const { label, choices } = DEPLOYMENT[name];
    const value = asked[name] ?? planned?.[name] ?? choices[0].value;
    const obstacles = new Map(choices.map((choice) => [choice.value, obstacleTo(choice, nodes)]));
    return (
      <Select
        key={name}
        label={label}
        title={choices.find((choice) => choice.value === value)?.note}
        value={value}
        data={choices.map((choice) => ({
          value: choice.value,
          label: choice.label,
          // The current choice can always be changed.
          disabled: obstacles.get(choice.value) !== null && choice.value !== value,
        }))}
        renderOption={({ option }) => (
          <div>
            {option.label}
            <div className={classes.optionNote}>
              {obstacles.get(option.value) ?? choices.find((choice) => choice.value === option.value)?.note}
            </div>
          </div>
        )}
        comboboxProps={{ width: 260, position: 'bottom-start' }}
        onChange={(next) => next && onChange({ ...asked, [name]: next })}
      />
    );
  });
}
