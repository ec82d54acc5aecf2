"""Writes python.zip with Python's zipfile, and python.json with its content."""
import io, json, struct, zipfile, zlib

def info(name, method=zipfile.ZIP_DEFLATED):
    found = zipfile.ZipInfo(name, (2020, 2, 3, 4, 5, 6))
    found.compress_type = method
    found.external_attr = (0o040755 << 16 | 0x10) if name.endswith("/") else 0o100644 << 16
    return found

class Pipe(io.RawIOBase):
    """An output that cannot seek: zipfile then writes data descriptors."""
    def __init__(self): self.data = bytearray()
    def writable(self): return True
    def write(self, part): self.data += part; return len(part)

out = Pipe()
with zipfile.ZipFile(out, "w") as archive:
    archive.writestr(info("folder/"), b"")
    archive.writestr(info("folder/text.txt"), b"text\n" * 1000)
    archive.writestr(info("stored.bin", zipfile.ZIP_STORED), bytes(range(256)))
    archive.writestr(info("empty.txt"), b"")
    archive.writestr(info("./dot//slash.txt"), b"dot")
    archive.writestr(info("umlaut-\u00e4-\u65e5.txt"), b"utf8")
    with archive.open(info("forced64.txt"), "w", force_zip64=True) as member:
        member.write(b"64 bit sizes" * 50)
data = bytes(out.data)
# A name in code page 437, as old archivers write it: no UTF-8 flag.
data = data.replace(b"stored.bin", b"st\x94red.bin")
open("python.zip", "wb").write(data)
with zipfile.ZipFile("python.zip") as archive:
    rows = []
    for member in archive.infolist():
        content = archive.read(member)
        path = "/".join(part for part in member.filename.split("/") if part not in ("", "."))
        rows.append([path, member.is_dir(), len(content), zlib.crc32(content)])
json.dump(rows, open("python.json", "w"), ensure_ascii=False)
