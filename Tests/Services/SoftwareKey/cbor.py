"""The part of CBOR (RFC 8949) that CTAP2 uses, in its canonical form."""


def encode(value):
    if value is True or value is False:
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(encode, value))
    pairs = [(encode(key), encode(content)) for key, content in value.items()]
    # CTAP2, 8: by major type, then length, then bytes.
    pairs.sort(key=lambda pair: (pair[0][0] >> 5, len(pair[0]), pair[0]))
    return head(5, len(value)) + b"".join(key + content for key, content in pairs)


def head(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    width = next(width for width in (1, 2, 4) if number < 1 << 8 * width)
    return bytes([major << 5 | 23 + width.bit_length()]) + number.to_bytes(width, "big")


def decode(data):
    return decode_at(data, 0)[0]


def decode_at(data, at):
    major, number = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        return {20: False, 21: True}[number], at
    if number >= 24:
        width = 1 << number - 24
        number = int.from_bytes(data[at:at + width], "big")
        at += width
    if major < 2:
        return (number if major == 0 else -1 - number), at
    if major < 4:
        content = bytes(data[at:at + number])
        return (content if major == 2 else content.decode()), at + number
    items = []
    for _ in range(number * (major - 3)):
        item, at = decode_at(data, at)
        items.append(item)
    return (items if major == 4 else dict(zip(items[::2], items[1::2]))), at
