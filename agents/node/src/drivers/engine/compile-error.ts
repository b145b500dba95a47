/** The spec cannot be compiled to a data plane; `pointer` is a JSON Pointer into the spec. */
export class CompileError extends Error {
  override name = 'CompileError';
  constructor(
    readonly pointer: string,
    detail: string,
    readonly instanceId: string | null = null,
  ) {
    super(detail);
  }
}
