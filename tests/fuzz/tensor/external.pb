j
location
there.dataj
offset8j
length8p