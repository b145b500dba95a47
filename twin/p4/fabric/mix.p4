// SPDX-License-Identifier: Apache-2.0
// The finalizer of splitmix64. Each step is a table of its own: in one action the compiler would put the expression of
// every step into the next, twice.
control Mix(inout bit<64> x) {
    action fold_30() {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    }

    action fold_27() {
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    }

    action fold_31() {
        x = x ^ (x >> 31);
    }

    @hidden table step_1 { actions = { fold_30; } const default_action = fold_30(); }
    @hidden table step_2 { actions = { fold_27; } const default_action = fold_27(); }
    @hidden table step_3 { actions = { fold_31; } const default_action = fold_31(); }

    apply {
        step_1.apply();
        step_2.apply();
        step_3.apply();
    }
}
