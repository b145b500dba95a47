import { Calibration, fieldErrors, Infrastructure, NfDescriptor, PlannedChain, PlanOptions } from '@orrery/contract';
import { BadProblem, requireAtLeast } from '../bad-problem.js';
import { requireTime } from '../budget.js';
import { NOT_CALIBRATED } from '../slo/overhead.js';
import { withoutNegligible } from '../without-negligible.js';
import type { PlanInput } from './input.js';

/** What callers bring from outside; the rest of the input is what earlier plans and agents said. */
const Descriptors = NfDescriptor.array();

/**
 * The input as the contract has it, without figures that are negligible. With a memo, what is the same as in an earlier plan is the very object that it was
 * there. Errors: `BadProblem` for the first field that breaks it, `OutOfTime`.
 */
export function parsedInput(input: PlanInput): PlanInput {
  requireAtLeast('/budget/steps', input.budget.steps, 0);
  const { memo } = input;
  const known = <T>(field: string, kind: string, schema: Schema<T>, value: unknown): T => {
    const parse = () => parsed(field, schema, value);
    return memo && isObject(value) ? memo.get(`parsed ${kind} ${memo.nameOf(value)}`, parse) : parse();
  };
  return {
    ...input,
    options: parsed('/options', PlanOptions, input.options ?? {}),
    chains: input.chains.map((chain, i) => {
      requireTime(input.budget);
      return known(`/chains/${i}`, 'chain', PlannedChain, chain);
    }),
    descriptors: known('/descriptors', 'descriptors', Descriptors, input.descriptors),
    calibration: known('/calibration', 'calibration', Calibration, input.calibration ?? NOT_CALIBRATED),
    infrastructure: known('/infrastructure', 'infrastructure', Infrastructure, input.infrastructure),
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

interface Schema<T> {
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: T } | { readonly success: false; readonly error: Issues };
}
type Issues = Parameters<typeof fieldErrors>[0];

function parsed<T>(field: string, schema: Schema<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return withoutNegligible(result.data);
  const { pointer, detail } = fieldErrors(result.error)[0]!;
  throw new BadProblem(`${field}${pointer}`, `is not as the contract has it: ${detail}`);
}
