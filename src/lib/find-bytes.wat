;; Where the `length` bytes at `needle` begin first in the bytes from `at` to `end`, or -1. Each step compares 16 places by the first and the last
;; byte of the needle; the others are compared where both agree. Where nothing agrees, 64 places are passed at a time. It reads up to 32 bytes
;; behind `end`. `length` is 1 or more.
(module
  (import "env" "memory" (memory 1))
  (func (export "find") (param $at i32) (param $end i32) (param $needle i32) (param $length i32) (result i32)
    (local $first v128) (local $last v128) (local $hits i32) (local $stop i32) (local $from i32) (local $i i32) (local $gap i32) (local $tail i32)
    (local.set $gap (i32.sub (local.get $length) (i32.const 1)))
    (local.set $first (i8x16.splat (i32.load8_u (local.get $needle))))
    (local.set $last (i8x16.splat (i32.load8_u (i32.add (local.get $needle) (local.get $gap)))))
    ;; the last place where it may begin
    (local.set $stop (i32.sub (local.get $end) (local.get $length)))
    (block $none
      (loop $steps
        (br_if $none (i32.gt_s (local.get $at) (local.get $stop)))
        (local.set $tail (i32.add (local.get $at) (local.get $gap)))
        (block $slow
          (loop $quick
            (br_if $slow (i32.gt_s (i32.add (local.get $at) (i32.const 48)) (local.get $stop)))
            (br_if $slow (v128.any_true (v128.or
              (v128.or
                (v128.and (i8x16.eq (v128.load (local.get $at)) (local.get $first)) (i8x16.eq (v128.load (local.get $tail)) (local.get $last)))
                (v128.and (i8x16.eq (v128.load offset=16 (local.get $at)) (local.get $first)) (i8x16.eq (v128.load offset=16 (local.get $tail)) (local.get $last))))
              (v128.or
                (v128.and (i8x16.eq (v128.load offset=32 (local.get $at)) (local.get $first)) (i8x16.eq (v128.load offset=32 (local.get $tail)) (local.get $last)))
                (v128.and (i8x16.eq (v128.load offset=48 (local.get $at)) (local.get $first)) (i8x16.eq (v128.load offset=48 (local.get $tail)) (local.get $last)))))))
            (local.set $at (i32.add (local.get $at) (i32.const 64)))
            (local.set $tail (i32.add (local.get $tail) (i32.const 64)))
            (br $quick)))
        (local.set $hits (i8x16.bitmask (v128.and
          (i8x16.eq (v128.load (local.get $at)) (local.get $first))
          (i8x16.eq (v128.load (i32.add (local.get $at) (local.get $gap))) (local.get $last)))))
        (block $next
          (loop $places
            (br_if $next (i32.eqz (local.get $hits)))
            (local.set $from (i32.add (local.get $at) (i32.ctz (local.get $hits))))
            (local.set $hits (i32.and (local.get $hits) (i32.sub (local.get $hits) (i32.const 1))))
            (br_if $none (i32.gt_s (local.get $from) (local.get $stop)))
            (local.set $i (i32.const 1))
            (block $differs
              (loop $bytes
                (if (i32.ge_s (local.get $i) (local.get $gap)) (then (return (local.get $from))))
                (br_if $differs (i32.ne
                  (i32.load8_u (i32.add (local.get $from) (local.get $i)))
                  (i32.load8_u (i32.add (local.get $needle) (local.get $i)))))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br $bytes)))
            (br $places)))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $steps)))
    (i32.const -1)))
