"""Writes zip64.zip, in which all sizes, offsets and counts are in zip64 structures."""
import struct
import zlib
from pathlib import Path

ALL = 0xffffffff
out, directory = bytearray(), bytearray()
for name, content, method in ((b"a.txt", b"stored", 0), (b"d/b.txt", b"deflated", 8)):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packer.compress(content) + packer.flush() if method else content
    offset = len(out)
    extra = struct.pack("<HHQQ", 1, 16, len(content), len(data))
    sizes = zlib.crc32(content), ALL, ALL, len(name)
    out += b"PK\3\4" + struct.pack("<HHHHHIIIHH", 45, 0, method, 0, 0x21, *sizes, len(extra)) + name + extra + data
    extra = struct.pack("<HHQQQ", 1, 24, len(content), len(data), offset)
    directory += b"PK\1\2" + struct.pack("<HHHHHHIIIHH", 45, 45, 0, method, 0, 0x21, *sizes, len(extra))
    directory += struct.pack("<HHHII", 0, 0, 0, 0, ALL) + name + extra
begin = len(out)
out += directory
end = len(out)
out += b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 2, 2, len(directory), begin)
out += b"PK\6\7" + struct.pack("<IQI", 0, end, 1)
out += b"PK\5\6" + struct.pack("<HHHHIIH", 0xffff, 0xffff, 0xffff, 0xffff, ALL, ALL, 0)
Path(__file__).with_name("zip64.zip").write_bytes(out)
