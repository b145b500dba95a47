import { connect, type NetConnectOpts } from 'node:net';
import { addAbortSignal } from 'node:stream';
import type { RegisterReader } from '../p4-own/register-reader.js';
import { readRequest, takeValue } from './thrift-message.js';

const LIMIT_MS = 2000;

/**
 * Registers of simple_switch, which tells them by Thrift alone (BMv2 `standard.thrift`, service `standard`): of each value its
 * lowest 64 bits. `address`: `host:port` or `unix:/path`.
 */
export class ThriftRegisters implements RegisterReader {
  constructor(private readonly address: string) {}

  async read(register: string, from: number, count: number): Promise<bigint[]> {
    const socket = addAbortSignal(AbortSignal.timeout(LIMIT_MS), connect(optionsOf(this.address)));
    try {
      for (let index = from; index < from + count; index++) socket.write(readRequest(register, index));
      const values: bigint[] = [];
      let received = Buffer.alloc(0);
      if (count === 0) return values;
      for await (const chunk of socket) {
        received = Buffer.concat([received, chunk]);
        for (let next = takeValue(received); next !== null; next = takeValue(received)) {
          values.push(next.value);
          received = received.subarray(next.bytes);
        }
        if (values.length === count) return values;
      }
      throw new Error('the switch closed the connection');
    } catch (error) {
      const { name, message } = error as Error;
      const reason = name === 'AbortError' ? `no answer within ${LIMIT_MS} ms` : message;
      throw new Error(`/name: ${register} cannot be read from Thrift at ${this.address}: ${reason}`);
    } finally {
      socket.destroy();
    }
  }
}

function optionsOf(address: string): NetConnectOpts {
  if (address.startsWith('unix:')) return { path: address.slice('unix:'.length) };
  const [, host, port] = /^\[?(.+?)\]?:(\d+)$/.exec(address)!;
  return { host: host!, port: Number(port) };
}
