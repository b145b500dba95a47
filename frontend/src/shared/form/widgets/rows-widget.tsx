import { ActionIcon, Fieldset } from '@mantine/core';
import { IconChevronRight, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import type { RowsField } from '../field-model.js';
import { fieldProblem } from '../field-problems.js';
import { asValues, newRow, rowSummary, type Values } from '../field-values.js';
import classes from '../form.module.css';
import type { FormBinding, Path, WidgetProps } from '../widget.js';
import { AddButton } from './add-button.js';

function hasProblem({ columns }: RowsField, row: Values, path: Path, form: FormBinding): boolean {
  return columns.some(
    (column) =>
      (row[column.key] !== undefined && fieldProblem(column, row[column.key])) || form.problemAt([...path, column.key]),
  );
}

/** Rows collapse to one line each; at most one is open, and a new row opens immediately. */
export function RowsWidget({ field, value, path, form, problem, onChange, Fields }: WidgetProps<RowsField>) {
  const rows = Array.isArray(value) ? value.map(asValues) : [];
  const [open, setOpen] = useState(-1);
  const singular = field.itemTitle;
  return (
    <Fieldset legend={field.title} className={classes.fieldset}>
      {field.description && <p className={classes.note}>{field.description}</p>}
      {rows.length === 0 && <p className={classes.note}>None.</p>}
      {rows.map((row, index) => {
        const name = `${singular} ${index + 1}`;
        const summary = rowSummary(field.columns, row);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their place
          <div key={index} className={classes.card}>
            <div className={classes.cardHead}>
              <button
                type="button"
                className={classes.cardTitle}
                data-problem={hasProblem(field, row, [...path, index], form) || undefined}
                aria-expanded={open === index}
                aria-label={`${name}: ${summary || 'empty'}`}
                onClick={() => setOpen(open === index ? -1 : index)}
              >
                <IconChevronRight size={12} aria-hidden />
                <span className="muted">{index + 1}</span> {summary || `empty ${singular}`}
              </button>
              {!form.readOnly && (
                <ActionIcon
                  size={24}
                  aria-label={`Remove ${name}`}
                  disabled={rows.length <= field.minItems}
                  onClick={() => {
                    setOpen(-1);
                    onChange(rows.filter((_, at) => at !== index));
                  }}
                >
                  <IconTrash size={13} aria-hidden />
                </ActionIcon>
              )}
            </div>
            {open === index && (
              <div className={classes.cardFields}>
                <Fields
                  form={{
                    ...form,
                    onChange: (_, next) => onChange(rows.map((each, at) => (at === index ? next : each))),
                  }}
                  fields={field.columns}
                  values={row}
                  path={[...path, index]}
                  context={name}
                  compact
                />
              </div>
            )}
          </div>
        );
      })}
      {problem && <p className={classes.error}>{problem}</p>}
      {!form.readOnly && rows.length < field.maxItems && (
        <AddButton
          what={singular}
          onClick={() => {
            setOpen(rows.length);
            onChange([...rows, newRow(field.columns)]);
          }}
        />
      )}
    </Fieldset>
  );
}
