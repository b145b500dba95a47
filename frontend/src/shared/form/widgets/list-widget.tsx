import { ActionIcon, Fieldset } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import type { ListField } from '../field-model.js';
import { initialValue } from '../field-values.js';
import classes from '../form.module.css';
import type { WidgetProps } from '../widget.js';
import { AddButton } from './add-button.js';

export function ListWidget({ field, value, path, form, problem, onChange, FieldInput }: WidgetProps<ListField>) {
  const items = Array.isArray(value) ? value : [];
  const { item, itemTitle: singular, unset } = field;
  const isLast = items.length === 1 && unset !== undefined;
  return (
    <Fieldset legend={field.title} className={classes.fieldset}>
      {field.description && <p className={classes.note}>{field.description}</p>}
      {items.length === 0 && unset && <p className={classes.note}>{unset}</p>}
      {items.map((each, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items have no identity but their place
        <div key={index} className={classes.listItem}>
          <FieldInput
            field={item}
            value={each}
            path={[...path, index]}
            label={`${singular} ${index + 1}`}
            hideLabel
            form={form}
            onChange={(next) => onChange(items.map((old, at) => (at === index ? (next ?? '') : old)))}
          />
          {!form.readOnly && (
            <ActionIcon
              aria-label={`Remove ${singular} ${index + 1}`}
              disabled={items.length <= field.minItems && !isLast}
              onClick={() => onChange(isLast ? undefined : items.filter((_, at) => at !== index))}
            >
              <IconTrash size={13} aria-hidden />
            </ActionIcon>
          )}
        </div>
      ))}
      {problem && <p className={classes.error}>{problem}</p>}
      {!form.readOnly && items.length < field.maxItems && (
        <AddButton what={singular} onClick={() => onChange([...items, initialValue(item)])} />
      )}
    </Fieldset>
  );
}
