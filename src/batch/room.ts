/** The memory for results that replace each other, or larger memory where it has too little room. Sizes are powers of two, so that it grows rarely. */
export function withRoom(
  room: Buffer,
  bytes: number,
  leastBytes: number,
  allocate: (bytes: number) => Buffer = Buffer.allocUnsafeSlow,
): Buffer {
  return room.length >= bytes ? room : allocate(Math.max(leastBytes, 2 ** Math.ceil(Math.log2(bytes))))
}
