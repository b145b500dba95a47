import { type FieldError, NfDescriptor } from '@orrery/contract';
import { Document } from 'yaml';
import { fieldText } from './pointer.js';
import { checked, locate, parsed, type TextProblem } from './yaml-text.js';

export type DescriptorResult = { ok: true; descriptor: NfDescriptor } | { ok: false; problems: TextProblem[] };

export function descriptorToYaml(descriptor: NfDescriptor): string {
  return new Document(descriptor).toString({ lineWidth: 120, flowCollectionPadding: true });
}

/** Reads a descriptor from YAML or JSON. Every problem has its line. */
export function descriptorFromYaml(text: string): DescriptorResult {
  const read = parsed(text);
  if (!read.ok) return read;
  const result = checked(NfDescriptor, read);
  return result.ok ? { ok: true, descriptor: result.value } : result;
}

/** What a server refused, with the lines of its fields. */
export function atTheirLines(text: string, errors: readonly FieldError[]): TextProblem[] {
  return errors.map(({ pointer, detail }) => ({
    ...locate(text, pointer),
    message: `${fieldText(pointer)} ${detail}`.trimStart(),
    pointer,
  }));
}
