import { p4SwitchKind } from '../p4-switch/p4-switch-kind.js';
import { ThriftRegisters } from './thrift-registers.js';

/** simple_switch_grpc, the P4 reference switch. */
export const switchBmv2 = p4SwitchKind('bmv2', 'simple_switch_grpc', {
  traces: false,
  registersAt: (thrift) => new ThriftRegisters(thrift),
});
