import type { ComponentType } from 'react';
import type { FormField } from './field-model.js';
import type { Values } from './field-values.js';
import type { OnRejected } from './rejected-entries.js';

/** Where a field is: keys and indices from the whole value down. */
export type Path = readonly (string | number)[];

export const pointerOf = (path: Path): string => path.map((step) => `/${step}`).join('');

/** Options of a reference. */
export interface ReferenceChoices {
  readonly options: readonly { readonly value: string; readonly label: string }[];
  /** Values that are not listed may be typed. */
  readonly open?: boolean;
  /** Shown while nothing is chosen. */
  readonly placeholder?: string;
}

/** Connects the fields of a form to the state that they edit. */
export interface FormBinding {
  /** Called with the whole new object and the place of the change. */
  readonly onChange: (path: Path, values: Values) => void;
  /** Error at exactly this place, from a validator or the server; null: none. */
  readonly problemAt: (path: Path) => string | null;
  readonly readOnly: boolean;
  /** Of a form that is its own `RejectedEntries`. */
  readonly onRejected?: OnRejected;
  /** Whether an emptied field counts as absent; otherwise the last value stays in effect. */
  readonly takesGaps?: boolean;
  /** A rejected number or text stays in the field and changes nothing. */
  readonly strict?: boolean;
  /** Pointer of the field that has the focus when the dialog opens. */
  readonly autoFocus?: string;
  /** Fields that a form edits in its own way, by JSON pointer. */
  readonly widgets?: Readonly<Record<string, ComponentType<WidgetProps<FormField>>>>;
  /** Options of references, by what they refer to; without an entry the id is typed. */
  readonly references?: Readonly<Record<string, ReferenceChoices>>;
}

export interface FieldsProps {
  readonly form: FormBinding;
  readonly fields: readonly FormField[];
  readonly values: Values;
  readonly path: Path;
  /** Said before each label to a screen reader where several rows have the same fields. */
  readonly context?: string;
  /** Without descriptions. */
  readonly compact?: boolean;
}

export interface FieldInputProps {
  readonly field: FormField;
  readonly value: unknown;
  readonly path: Path;
  readonly label: string;
  readonly hideLabel?: boolean;
  readonly compact?: boolean;
  readonly form: FormBinding;
  readonly onChange: (value: unknown) => void;
}

/** What a widget is given: one field, its value, and what to say around it. */
export interface WidgetProps<Field extends FormField> extends Omit<FieldInputProps, 'field'> {
  readonly field: Field;
  readonly problem: string | null;
  /** For the fields inside of this one. */
  readonly Fields: ComponentType<FieldsProps>;
  readonly FieldInput: ComponentType<FieldInputProps>;
}

/** Aligns adjacent inputs, however long their descriptions are. */
export const INPUT_ORDER: ('label' | 'input' | 'description' | 'error')[] = ['label', 'input', 'description', 'error'];

/** Label, description and error in the way of Mantine's inputs. */
export function inputProps({ field, path, label, hideLabel, compact, problem, form }: WidgetProps<FormField>) {
  return {
    label: hideLabel ? undefined : field.title,
    'aria-label': hideLabel || compact ? label : undefined,
    description: hideLabel || compact ? undefined : field.description || undefined,
    error: problem,
    inputWrapperOrder: INPUT_ORDER,
    'data-autofocus': form.autoFocus === pointerOf(path) || undefined,
    disabled: form.readOnly || field.readOnly,
    required: field.required && form.takesGaps === true && !hideLabel,
  };
}

/** Value of an emptied field. */
export const emptyOf = ({ nullable }: FormField): null | undefined => (nullable ? null : undefined);
